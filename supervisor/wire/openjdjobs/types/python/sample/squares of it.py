def square(frame):
    with open("square %d.txt" % frame, "w") as f:
        f.write("%d" % frame**2)
