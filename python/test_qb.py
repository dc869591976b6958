"""Tests of qb.py: ranges by themselves, everything else on a real farm, which QB_SUPERVISOR or QB_STATE names."""

import asyncio
import inspect
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import qb


def double(value):
    return 2 * value


def fails_at_three(value):
    if value == 3:
        raise KeyError("three is refused")
    return value


def vanishes_at_two(value):
    if value == 2:
        os._exit(0)
    return value


CALLS = []


def process(value):
    CALLS.append(value)
    if value == "bad":
        raise ValueError(value)
    return [os.getpid(), len(CALLS), os.environ["QB_FRAME_NUMBER"]]


def pair(value):
    return (value, value)


def long(value):
    return "x" * value


# A script as they are written for Qube!: its loop of requestwork and reportwork, with what each status asks for.
BACK_END = """import os
import sys
import time

import qb


def main():
    job = qb.jobobj()
    print("loaded %s for job %s.%s of %s" % (job["package"]["scene"], qb.jobid(), qb.subid(), job["name"]))
    state = "complete"
    while True:
        work = qb.requestwork()
        if work["status"] in ("complete", "pending", "blocked"):
            state = work["status"]
            break
        if work["status"] == "waiting":
            time.sleep(10)
            continue
        if work["status"] != "running":
            state = "failed"
            break
        picture = qb.convertpath("/show/out/%s.exr" % work["name"])
        print("frame %s in process %d" % (work["name"], os.getpid()))
        if work["name"] == "5":
            qb.requestwork()
            sys.exit(0)
        work["status"] = "failed" if work["name"] == "3" else "complete"
        work["resultpackage"] = {"outputPaths": picture, "seconds": 0.5}
        qb.reportwork(work)
        try:
            qb.reportwork(work)
        except qb.Error as error:
            print(error.code)
    qb.reportjob(state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
"""


class Ranges(unittest.TestCase):
    def test_split(self):
        self.assertEqual(qb.rangesplit("1-10x3,20,4"), [1, 4, 7, 10, 20])
        self.assertEqual(qb.rangesplit("3-1"), [3, 2, 1])
        self.assertEqual(qb.rangesplit("-2-1"), [-2, -1, 0, 1])
        for bad in ("", "a", "1-", "1-9x0", "1-99999999"):
            with self.assertRaises(qb.Error) as caught:
                qb.rangesplit(bad)
            self.assertEqual(caught.exception.code, "usage")

    def test_parts(self):
        self.assertEqual(qb.rangechunk("1-10", 4), ["1-4", "5-8", "9-10"])
        self.assertEqual(qb.rangechunk("1-20x3,5-1,7", 3), ["1-7x3", "10-16x3", "19,5,3", "2"])
        self.assertEqual(qb.rangechunk("1,6,9-8", 2), ["1-6x5", "9-8"])
        self.assertEqual(qb.rangepartition("1-10", 3), ["1-4", "5-7", "8-10"])
        self.assertEqual(qb.rangepartition("1-2", 5), ["1", "2"])
        self.assertEqual([work["name"] for work in qb.genframes("1-3")], ["1", "2", "3"])
        self.assertEqual([work["name"] for work in qb.genframes("1-9", binary=True)], ["1", "9", "5", "3", "7", "2", "4", "6", "8"])
        self.assertEqual([qb.binarySort(items) for items in ([], [4], [4, 5])], [[], [4], [4, 5]])
        with self.assertRaises(qb.Error):
            qb.rangechunk("1-3", 0)

    def test_lists(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../supervisor/job/facts/testdata/lists.json"), encoding="utf-8") as table:
            lists = json.load(table)
        self.assertGreater(len(lists), 10)
        for one in lists:
            if one.get("refused"):
                with self.assertRaises(qb.Error):
                    qb._entries(one["text"], one["quotes"] == "shell")
            else:
                self.assertEqual(qb._entries(one["text"], one["quotes"] == "shell"), one["entries"])


class Login(unittest.TestCase):
    """The file of `qb login`: where the farm is, and the token for it. cmd/qb/testdata/script/people.txtar uses it with TLS."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "qb", "login.json")
        os.mkdir(os.path.dirname(self.file))
        kept = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(kept)))
        for name in ("QB_SUPERVISOR", "QB_STATE", "QB_TOKEN", "QB_TOKEN_FILE"):
            os.environ.pop(name, None)
        os.environ["XDG_CONFIG_HOME"] = folder.name
        os.environ["XDG_STATE_HOME"] = folder.name

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.file, 0o600)

    def test_of_nobody_elses(self):
        self.write('{"url":"https://farm:50001","token":"qb_user_x"}')
        for mode in (0o640, 0o604, 0o620, 0o602):
            os.chmod(self.file, mode)
            with self.assertRaises(qb.Error) as caught:
                qb.Client()
            self.assertIn("mode %03o" % mode, caught.exception.detail)

    def test_found(self):
        self.write('{"url":"https://farm:50001","token":"qb_user_x.FINGERPRINT"}')
        farm = qb.Client()
        self.assertEqual((farm.addresses, farm.token, farm._authority), (["https://farm:50001"], "qb_user_x", "FINGERPRINT"))
        self.assertEqual(qb.Client("https://farm:50001").token, "qb_user_x")
        self.assertEqual(qb.Client("https://other:50001").token, "")  # it is for its farm alone
        self.assertEqual(qb.Client("https://farm:50001,https://other:50001").token, "")
        os.environ["QB_TOKEN"] = "another"
        self.assertEqual(qb.Client().token, "another")
        os.environ["QB_SUPERVISOR"] = "https://third:1"
        self.assertEqual(qb.Client().addresses, ["https://third:1"])
        self.assertEqual(qb.Client().token, "another")
        self.assertEqual(qb.Client("https://other:50001").token, "")  # that of the environment is for QB_SUPERVISOR

    def test_a_named_state_folder_goes_before(self):
        self.write('{"url":"https://farm:50001","token":"qb_user_x"}')
        os.environ["QB_STATE"] = os.path.dirname(self.file)
        with self.assertRaises(qb.Error) as caught:
            qb.Client()
        self.assertEqual(caught.exception.code, "unreachable")

    def test_none_damaged_and_of_another(self):
        self.assertEqual(qb._login(), {})
        for text in ("", "{", "[]", '{"url":"https://farm:1"}', '{"url":1,"token":"x"}'):
            self.write(text)
            with self.assertRaises(qb.Error) as caught:
                qb.Client()
            self.assertIn("log in again", caught.exception.detail)
        if os.geteuid() == 0:
            self.write('{"url":"https://farm:50001","token":"qb_user_x"}')
            os.chown(self.file, 12345, 12345)
            self.assertEqual(qb._login(), {})

    def test_fingerprints_of_der_alone(self):
        def element(tag, *parts):
            content = b"".join(parts)
            size = bytes([len(content)]) if len(content) < 0x80 else b"\x81" + bytes([len(content)])
            return bytes([tag]) + size + content

        def certificate(extra=b"", key=b"k"):
            return element(0x30, element(0x30, element(0xA0, b"\x02\x01\x02"), element(0x02, b"\x01"), *(element(0x30, b"x") for _ in range(4)), element(0x30, key)), extra)

        self.assertEqual(len(qb._fingerprint(certificate())), 43)
        self.assertNotEqual(qb._fingerprint(certificate()), qb._fingerprint(certificate(key=b"l")))
        good = certificate()
        endless = good[:2] + b"\x30\x80" + good[4:]  # BER: until an end mark
        padded = b"\x30\x81" + good[1:]               # a length longer than it need be
        for bad in (b"", good[:-1], good + b"\x00", endless, padded, b"\x31" + good[1:], good[:4] + good[9:]):
            with self.assertRaises(ValueError):
                qb._fingerprint(bad)


CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api", "testdata", "loopback.json")


class WhoAnswers(unittest.TestCase):
    """Who is sent anything on this machine, by the cases that api.TestLoopbackCases reads, too."""

    def setUp(self):
        with open(CASES, encoding="utf-8") as file:
            self.cases = json.load(file)
        kept = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(kept)))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("QB_SUPERVISOR", "QB_STATE", "QB_TOKEN", "QB_TOKEN_FILE"):
            os.environ.pop(name, None)
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = folder.name

    def test_cases(self):
        for case in self.cases["here"]:
            self.assertEqual(qb._here(case["local"], case["remote"]), case["here"], case)
        uids = {"root": 0, "own": os.geteuid(), "another": os.geteuid() + 31, "unknown to the kernel": 65534}
        for case in self.cases["admitted"]:
            self.assertEqual(qb._admits(uids[case["uid"]]), case["admitted"], case)
        for case in self.cases["same"]:
            self.assertEqual(qb._same(case["one"], case["other"]), case["same"], case)
        for case in self.cases["listed"]:
            words = b"".join(word.to_bytes(4, "big") for word in case["words"])
            want = "".join("%08X" % int.from_bytes(words[at:at + 4], sys.byteorder) for at in range(0, len(words), 4)) + case["text"]
            self.assertEqual(qb._as_listed(case["address"], case["port"], case["wide"]), want, case)

    def listen(self, family, address):
        server = socket.socket(family)
        self.addCleanup(server.close)
        server.bind((address, 0))
        server.listen(8)
        return server, server.getsockname()[1]

    def test_the_kernel_names_the_account(self):
        for family, address, shown in ((socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::1", "[::1]"), (socket.AF_INET6, "::", "127.0.0.1")):
            server, port = self.listen(family, address)
            with socket.create_connection((shown.strip("[]"), port)) as connection, server.accept()[0]:
                self.assertEqual(qb._tcp_peer(connection), os.geteuid(), address)

    def test_who_does_not_accept_is_sent_nothing(self):
        server, port = self.listen(socket.AF_INET, "127.0.0.1")
        with self.assertRaises(qb.Error) as caught:
            qb.Client("http://127.0.0.1:%d" % port, token="secret", retry=0).request("GET", "/v1/ping")
        self.assertIn("not accepted in time", caught.exception.detail)
        late, _ = server.accept()
        with late:
            self.assertEqual(late.recv(100), b"")

    def test_systems_that_name_no_account(self):
        """On Windows and macOS nothing is sent without TLS, and no farm of this machine is looked for."""
        kept = qb._KERNEL_NAMES_PEERS
        self.addCleanup(setattr, qb, "_KERNEL_NAMES_PEERS", kept)
        qb._KERNEL_NAMES_PEERS = False
        server, port = self.listen(socket.AF_INET, "127.0.0.1")
        for address in ("http://127.0.0.1:%d" % port, "unix:/run/qb/qb.sock", "http://farm:50001"):
            with self.assertRaises(qb.Error) as caught:
                qb.Client(address, token="secret", retry=0).request("GET", "/v1/ping")
            self.assertEqual(caught.exception.code, "usage")
            self.assertIn("on Windows and macOS commands talk to a supervisor by TLS alone", caught.exception.detail)
            self.assertIn(address, caught.exception.detail)
        server.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            server.accept()
        with open(os.path.join(self.folder, "farm.json"), "w", encoding="ascii") as file:
            json.dump({"url": "http://127.0.0.1:1"}, file)
        os.environ["QB_STATE"] = self.folder
        self.assertEqual(qb._farm_file(), {})

    def test_configuration_folders(self):
        """Each system's folder is the one in which the commands keep the login."""
        kept = sys.platform
        self.addCleanup(setattr, sys, "platform", kept)
        os.environ["APPDATA"], os.environ["HOME"] = self.folder, "/home/ada"
        for name, want in (("win32", self.folder), ("darwin", "/home/ada/Library/Application Support"), ("linux", self.folder)):
            sys.platform = name
            self.assertEqual(qb._config_folder(), os.path.join(want, "qb"), name)

    @unittest.skipUnless(os.geteuid() == 0, "root alone can be another user")
    def test_a_stranger_is_sent_nothing(self):
        server, port = self.listen(socket.AF_INET, "127.0.0.1")
        server.close()
        heard, tell = os.pipe()
        child = os.fork()
        if not child:
            os.setuid(12345)
            with socket.socket() as server:
                server.bind(("127.0.0.1", port))
                server.listen(8)
                os.write(tell, b"ready\n")
                while True:
                    connection, _ = server.accept()
                    os.write(tell, b"%d\n" % len(connection.recv(100)))
                    connection.close()
        self.addCleanup(lambda: (os.kill(child, signal.SIGKILL), os.waitpid(child, 0)))
        os.close(tell)
        said = os.fdopen(heard)
        self.addCleanup(said.close)
        self.assertEqual(said.readline(), "ready\n")
        state = os.path.join(self.folder, "farm")
        os.mkdir(state)
        with open(os.path.join(state, "farm.json"), "w", encoding="utf-8") as file:
            json.dump({"url": "http://localhost:%d" % port}, file)
        os.chmod(file.name, 0o644)
        for environ in ({"QB_SUPERVISOR": "http://127.0.0.1:%d" % port}, {"QB_SUPERVISOR": "http://localhost:%d" % port}, {"QB_STATE": state}):
            os.environ.pop("QB_SUPERVISOR", None)
            os.environ.update(environ, QB_TOKEN="qb_user_secret")
            with self.assertRaises(qb.Error) as caught:
                qb.Client(retry=0).request("POST", "/v1/jobs", body={"command": ["true"]})
            self.assertEqual((caught.exception.code, "uid 12345" in caught.exception.detail), ("untrusted", True), environ)
            self.assertEqual(said.readline(), "0\n", environ)
        os.environ.update(QB_SUPERVISOR="http://127.evil.example:%d" % port)
        with self.assertRaises(qb.Error) as caught:
            qb.Client(retry=0).request("GET", "/v1/ping")
        self.assertEqual(caught.exception.code, "usage")
        os.chown(file.name, 12345, 12345)
        with self.assertRaises(qb.Error) as caught:
            qb.Client(retry=0)
        self.assertIn("uid 12345", caught.exception.detail)

    def test_a_port_of_this_machines_farm_is_its_socket(self):
        state = os.path.join(self.folder, "farm")
        os.mkdir(state)
        with open(os.path.join(state, "farm.json"), "w", encoding="utf-8") as file:
            json.dump({"url": "http://127.0.0.1:50001", "socket": "/s/qb.sock"}, file)
        os.chmod(file.name, 0o644)
        os.environ.update(QB_STATE=state, QB_SUPERVISOR="http://localhost:50001,https://b:1", QB_TOKEN="t")
        farm = qb.Client()
        self.assertEqual((farm.addresses, farm.token), (["unix:/s/qb.sock", "https://b:1"], "t"))


class OnTheFarm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.farm = qb.Client()

    def wait_for(self, what, seconds=60):
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, "it never came")
            time.sleep(0.1)

    def test_client(self):
        job = self.farm.submit(["sh", "-c", "echo out QB_FRAME_NUMBER; echo err >&2"], range="1-3", name="client", cpus=2, max_cpus="*")
        self.assertEqual(job.wait(60)["status"], "complete")
        self.assertEqual([item["name"] for item in job.items(status="complete")], ["1", "2", "3"])
        self.assertEqual(b"".join(job.output(2, "stdout")), b"out 2\n")
        self.assertEqual(len(list(job.attempts())), 3)
        self.assertIn(job.id, [row["id"] for row in self.farm.jobs(name="client")])
        self.assertTrue(list(job.history()))
        self.assertTrue(self.farm.hosts())

    def test_job_types(self):
        [job] = self.farm.submit_type("command", range="1-5:2", values={"Command": "echo it is $FRAME; pwd", "Folder": "/tmp"}, priority=77)
        self.assertEqual((job.wait(60)["status"], job.info()["priority"]), ("complete", 77))
        self.assertIn(b"it is 3\n/tmp\n", b"".join(job.output(1)))
        there = os.getcwd()
        os.chdir("/")
        try:  # what is relative is of the current folder
            [job] = self.farm.submit_type("command", values={"Command": "pwd", "Folder": "tmp"}, retrywork=1)
        finally:
            os.chdir(there)
        self.assertEqual(job.wait(60)["status"], "complete")
        for change, code in ((dict(type="nosuch"), "not-found"), (dict(file="/tmp/a"), "usage"), (dict(values={"Nosuch": 1}), "invalid"), (dict(name="own"), "invalid")):
            with self.assertRaises(qb.Error) as caught:
                self.farm.submit_type(**{"type": "command", "values": {"Command": "true"}, **change})
            self.assertEqual(caught.exception.code, code)

    def test_errors_carry_codes(self):
        with self.assertRaises(qb.Error) as caught:
            self.farm.job(999999).info()
        self.assertEqual((caught.exception.code, caught.exception.status), ("not-found", 404))
        with self.assertRaises(qb.Error) as caught:
            self.farm.submit("true", priority=0)
        self.assertEqual(caught.exception.status, 422)
        self.assertIn("priority", caught.exception.detail)
        with self.assertRaises(qb.Error) as caught:
            self.farm.submit("true", priority="high")
        self.assertTrue(caught.exception.errors)
        with self.assertRaises(qb.Error) as caught:
            qb.Client("http://127.0.0.1:1", retry=0).hosts()
        self.assertEqual(caught.exception.code, "unreachable")
        with self.assertRaises(qb.Error) as caught:
            qb.Client("http://render.example.org:50001", token="secret").hosts()
        self.assertIn("https", caught.exception.detail)

    def test_a_failed_job(self):
        job = self.farm.submit("exit 3", name="fails")
        with self.assertRaises(qb.JobFailed) as caught:
            job.future().result(60)
        self.assertEqual(caught.exception.job["code"], "items_failed")

    def test_pages(self):
        job = self.farm.submit("true", range="1-450", status="blocked", name="pages")
        self.assertEqual(len(list(job.items(limit=100))), 450)
        job.kill()

    def test_events_and_followed_output(self):
        job = self.farm.submit("echo one; sleep 1; echo two", status="blocked", name="followed")
        seen, ended = [], threading.Event()

        def listen():
            for event in self.farm.events():
                seen.append(event)
                if event["job"] == job.id and event["type"] == "job-complete":
                    ended.set()
                    return

        threading.Thread(target=listen, daemon=True).start()
        time.sleep(1)  # the stream is open
        job.order("unblock")
        name = next(job.items())["name"]
        self.assertEqual(b"".join(job.output(name, "stdout", follow=True)), b"one\ntwo\n")
        self.assertTrue(ended.wait(30))
        self.assertTrue(all(event["id"] for event in seen))
        self.assertIn("ordered-unblock", [event["type"] for event in seen])

    def test_futures(self):
        done, failed = self.farm.submit("true"), self.farm.submit("exit 3")
        self.assertEqual(done.result(60)["status"], "complete")
        self.assertTrue(done.done() and not done.running() and not done.cancelled() and not done.cancel())
        self.assertEqual(failed.exception(60).code, "job-failed")
        self.assertIsNone(done.exception(0))
        held = self.farm.submit("true", status="blocked")
        with self.assertRaises(qb.Error) as caught:
            held.result(0.2)
        self.assertEqual(caught.exception.code, "timeout")
        future = held.future()
        self.assertTrue(future.cancel() and not future.cancelled())  # it ends as the farm says
        with self.assertRaises(qb.JobFailed) as caught:
            future.result(60)
        self.assertEqual(caught.exception.code, "job-killed")
        self.assertTrue(held.cancelled())

        async def wrapped():
            return await asyncio.wrap_future(done.future())

        self.assertEqual(asyncio.run(wrapped())["id"], done.id)

    def test_map(self):
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            self.assertEqual(self.farm.map(double, range(50), folder=folder, cpus=8, chunk=5), [2 * n for n in range(50)])
            self.assertEqual(qb.map("math:factorial", [3, 4], folder=folder), [6, 24])
            self.assertEqual(self.farm.map(pair, [1], folder=folder, transport="pickle"), [(1, 1)])
            self.assertEqual(self.farm.map(double, [], folder=folder), [])
            self.assertEqual(os.listdir(folder), [])

    def test_map_stays_loaded(self):
        """One process makes call after call, until one fails; each has the variables of its item."""
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            found = self.farm.map(process, ["a", "b", "bad", "c", "d"], folder=folder, max_cpus=1, errors="return")
            self.assertEqual(found[2].type, "ValueError")
            pids = [one[0] for one in found[:2] + found[3:]]
            self.assertEqual([pids[0] == pids[1] != pids[2] == pids[3], [one[1:] for one in found[:2] + found[3:]]],
                             [True, [[1, "0"], [2, "1"], [1, "3"], [2, "4"]]])

    def test_map_reads_whole_records(self):
        """What a process was killed over is no result; a result goes before an exception, a later exception before an earlier one."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("a.results", b"0 1 0 2\n{}1 1 1 2\n442 1 0 2\n{}"), ("b.results", b"2 2 0 3\n{ }0 2 1 1\n70 3 0 2\n{}3 1 1 100\nhalf"),
                                  ("c.results", b"4 1 1"), ("d.results", b""), ("items", b"5 1 1 1\n5")):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content)
            self.assertEqual(qb._returned(folder), {0: (1, 2, b"7"), 1: (1, 1, b"44"), 2: (0, 2, b"{ }")})
            with open(os.path.join(folder, "e.results"), "wb") as file:
                file.write(b"6 1 1 16777217\n")
            with self.assertRaises(qb.Error) as caught:
                qb._returned(folder)
            self.assertEqual(caught.exception.code, "invalid")

    def test_map_brings_failures_back(self):
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            with self.assertRaises(qb.MapError) as caught:
                self.farm.map(fails_at_three, range(5), folder=folder, cpus=5)
            failure, = caught.exception.failures
            self.assertEqual((caught.exception.code, failure.code, failure.index, failure.item, failure.type), ("map-failed", "item-failed", 3, 3, "KeyError"))
            self.assertIn("in fails_at_three", failure.traceback)
            self.assertIn("in fails_at_three", str(caught.exception))
            self.assertEqual(caught.exception.results, [0, 1, 2, None, 4])
            lost = self.farm.map(vanishes_at_two, range(3), folder=folder, errors="return")
            self.assertEqual(lost[:2], [0, 1])
            self.assertEqual((lost[2].index, lost[2].type, lost[2].traceback), (2, "", ""))
            self.assertIn("no result", lost[2].detail)
            changed = self.farm.map(pair, [1], folder=folder, errors="return")[0]
            self.assertIn("would come out of JSON", changed.detail)
            big = self.farm.map(long, [17 << 20], folder=folder, errors="return")[0]
            self.assertIn("at most 16777216 can travel", big.detail)
            self.assertEqual(os.listdir(folder), [])

    def test_map_refuses(self):
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            for function, items, more in ((lambda value: value, [1], {}), ("math", [1], {}), (double, [(1, 2)], {}), (double, [{1: 2}], {}), (double, [float("nan")], {}),
                                          (double, [1], {"transport": "yaml"}), (double, [1], {"errors": "no"}), (double, range(100001), {}), (3, [1], {})):
                with self.assertRaises(qb.Error) as caught:
                    self.farm.map(function, items, folder=folder, **more)
                self.assertEqual(caught.exception.code, "usage")
            before = len(list(self.farm.jobs(name="map double")))
            with self.assertRaises(qb.Error) as caught:
                self.farm.map(double, [1], folder=folder, status="blocked", timeout=0.5)
            self.assertEqual(caught.exception.code, "timeout")
            jobs = list(self.farm.jobs(name="map double"))
            self.assertEqual((len(jobs) - before, jobs[0]["status"]), (1, "killed"))
            self.assertEqual(os.listdir(folder), [])

    def test_a_script_that_is_not_guarded(self):
        """It would submit itself again on each host."""
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            script = os.path.join(folder, "script.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write("import qb\ndef call(value):\n    return value\nprint(qb.map(call, [1], name=%r))\n" % folder)
            ran = subprocess.run([sys.executable, script], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
            self.assertEqual(ran.returncode, 1)
            self.assertIn("while a host imported call for map", ran.stderr)
            self.assertEqual(len(list(self.farm.jobs(name=folder))), 1)

    def test_the_first_minute(self):
        """The first example of README.md does what it says."""
        with open(os.path.join(os.path.dirname(qb.__file__), "README.md"), encoding="utf-8") as file:
            example, shown = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", file.read(), re.DOTALL).groups()
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            ran = subprocess.run([sys.executable, "-c", example], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
        self.assertEqual((ran.stdout, ran.stderr), (shown, ""))

    def test_qubes_names(self):
        job = qb.Job({"name": "beauty", "prototype": "cmdrange", "cpus": 2, "max_cpus": "*", "priority": 100, "prod_show": "heron",
                      "package": {"cmdline": "echo frame QB_FRAME_NUMBER", "padding": 4}})
        job["agenda"] = qb.genframes("1-4")
        other = {"name": "after", "package": {"cmdline": ["true"]}, "status": "blocked"}
        first, second = qb.submit([job, other])
        self.assertTrue(qb.waitfor(first, timeout=60))
        self.assertFalse(qb.waitfor(second["id"], timeout=0.2))
        info = qb.jobinfo(id=first["id"], agenda=True)[0]
        self.assertEqual((info["status"], info["cpus"], info["max_cpus"], info["prod_show"]), ("complete", 2, -1, "heron"))
        self.assertEqual(info["todotally"]["complete"], 4)
        self.assertEqual((info["agendastatus"], info["subjobstatus"]), ("complete", "complete"))
        self.assertEqual((qb.jobinfo(id=second["id"])[0]["agendastatus"], qb.jobinfo(id=second["id"])[0]["subjobstatus"]), ("blocked", "blocked"))
        self.assertEqual([work["name"] for work in info["agenda"]], ["1", "2", "3", "4"])
        self.assertEqual(qb.stdout("%d:%s" % (first["id"], info["agenda"][1]["name"])), "frame 0002\n")
        self.assertIn("frame 0004", qb.stdout(first["id"]))
        self.assertEqual(qb.unblock(first), [])
        self.assertEqual(qb.unblock(second), [second["id"]])
        self.assertTrue(qb.waitfor(second, timeout=60))
        self.assertEqual([one["id"] for one in qb.jobinfo("-id", second["id"])], [second["id"]])
        self.assertTrue(qb.jobinfo(filters={"name": "beauty", "status": "complete"}))
        self.assertEqual(qb.retrywork("%d:%s" % (first["id"], "1")), [])
        self.assertEqual(qb.redowork("%d:%s" % (first["id"], "1")), ["%d:1" % first["id"]])
        self.assertTrue(qb.waitfor(first, timeout=60))
        self.assertTrue(qb.hist(first))

    def test_every_attribute_of_the_farm(self):
        """Dictionaries take each attribute that the farm's own document has, and no other."""
        schemas = self.farm.request("GET", "/v1/openapi.json")["components"]["schemas"]
        from_package = {"command", "shell", "range", "chunk", "partitions", "order", "padding", "type"}
        taken = set(qb._SAME) | set(qb._LISTS) | set(qb._RENAMED.values()) | {"tags"}
        self.assertEqual(taken, set(schemas["SubmitRequest"]["properties"]) - from_package - {"$schema"})
        self.assertLessEqual(set(schemas["ModifyRequest"]["properties"]) - {"$schema"}, taken)
        given = {"name": "all", "priority": 77, "cpus": 3, "max_cpus": 4, "cluster": "/show", "requirements": "host.memory > 1", "reservations": "host.processors=1",
                 "restrictions": "/show/+", "hostorder": "+host.memory.avail", "cwd": "/", "retrywork": 2, "timelimit": 90, "agenda_timelimit": 80, "time_estimate": 70,
                 "profile": "python", "hosts": "a", "omithosts": "b", "groups": "c", "omitgroups": "d", "flags": "uninterruptible", "prod_show": "heron",
                 "label": "beauty", "notes": "for later: é <b>"}
        first = qb.submit({"status": "blocked", "package": {"cmdline": "true"}})[0]
        given.update(pgrp=first["id"], pid=first["id"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no host can run it
            job = qb.submit(dict(given, status="blocked", package={"cmdline": "true"}))[0]
        info = qb.jobinfo(id=job)[0]
        self.assertEqual({key: info.get(key) for key in given}, given)
        self.assertEqual(qb.modify({"notes": "now", "pgrp": 0}, job), [job["id"]])
        info = qb.jobinfo(filters={"label": "beauty", "pid": first["id"]})[0]
        self.assertEqual((info["notes"], info["pgrp"]), ("now", job["id"]))
        qb.kill([job, first])

    def test_qubes_changes(self):
        job = qb.submit({"name": "long", "package": {"cmdline": "sleep 100", "range": "1-5"}, "cpus": 1, "max_cpus": 0})[0]
        self.assertEqual(qb.modify({"priority": 5, "max_cpus": 3}, job), [job["id"]])
        info = qb.jobinfo(id=job["id"])[0]
        self.assertEqual((info["priority"], info["max_cpus"]), (5, 3))
        self.wait_for(lambda: qb.jobinfo(id=job["id"], subjobs=True)[0]["subjobs"])
        host = qb.hostinfo()[0]
        self.assertEqual(host["state"], "active")
        self.assertTrue(qb.workerlock(host["name"]))
        self.assertTrue(qb.workerlock(host["name"], False))
        self.assertEqual(qb.kill(job["id"]), [job["id"]])
        self.assertEqual(qb.kill([job]), [])

    def test_bad_dictionaries(self):
        for job, wanted in (({"name": "x"}, "cmdline"), ({"package": {"cmdline": "true"}, "colour": 1}, "colour"),
                            ({"package": {"cmdline": "true"}, "prototype": "maya"}, "maya")):
            with self.assertRaises(qb.Error) as caught:
                qb.submit(job)
            self.assertIn(wanted, str(caught.exception))
        with self.assertRaises(qb.Error):
            qb.killwork("12")
        with self.assertRaises(qb.Error):
            qb.jobinfo(filters={"colour": 1})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            qb.kill(qb.submit({"package": {"cmdline": "true"}, "mounts": "/x", "status": "blocked"}))
        self.assertTrue([one for one in caught if "mounts" in str(one.message)])

    def test_every_argument_of_everything_public(self):
        """Whatever is given for an argument, it works or is a qb.Error in words of Python or of the farm."""
        job, folder = self.farm.submit("true"), tempfile.mkdtemp()
        job.wait()
        good = {"id": job.id, "job": job.id, "filename": folder + "/one", "text": "1-3", "size": 2, "count": 2, "item": 0, "items": "", "command": "true", "method": "GET",
                "path": "/v1/jobs", "changes": {"priority": 5}, "resources": {}, "settings": {}, "tag": "prod_show", "address": "", "milliseconds": 20000, "action": "kill"}
        wrong = [None, b"x", b"\xff", b"\0", "a\0b", pathlib.Path(folder) / "x", 3, -1, True, 2.0, float("nan"), float("inf"), 10 ** 400, 10 ** 6000, "x", "", "\ud800", [], ["a"], ["\0"], [[{}]], {},
                 {"a": object()}, {"\0": "\0"}, {3: [None]}, {1}, os.environ, object(), len, "GENERATOR"]
        public = [(name, one) for name, one in vars(qb).items() if inspect.isfunction(one) and not name.startswith("_")]
        for kind, of in ((qb.Client, self.farm), (qb.JobHandle, job)):
            public += [(name, getattr(of, name)) for name, one in vars(kind).items() if inspect.isfunction(one) and not name.startswith("_")]
        self.assertGreater(len(public), 80)
        old = {key: os.environ.pop(key, None) for key in ("XDG_CONFIG_HOME",)}
        os.environ["XDG_CONFIG_HOME"] = folder
        here = os.getcwd()
        os.chdir(folder)  # some write files
        try:
            for name, function in public:
                if name in ("events", "map"):  # one goes on for ever, the other runs what it is given
                    continue
                parameters = inspect.signature(function).parameters.values()
                for under in parameters:
                    for value in wrong:
                        value = (n for n in [b"\xff"]) if value == "GENERATOR" else value
                        words, named = [], {}
                        if name == "jobinfo" and under.name not in ("args", "id"):
                            named["id"] = job.id  # all jobs are many
                        for one in parameters:
                            if one is under and one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD):
                                named["name" if one.kind == one.VAR_KEYWORD else one.name] = value
                            elif one is under:
                                words.append(value)
                            elif one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
                                words.append(good.get(one.name, "x") if one.default is one.empty else one.default)
                        with self.subTest(name=name, argument=under.name, value=ascii(type(value)) if isinstance(value, int) else ascii(value)):
                            self.works_or_refuses(lambda: function(*words, **named))
                qb.setsupervisor("")
                qb.settimeout(20000)
        finally:
            os.chdir(here)
            os.environ.pop("XDG_CONFIG_HOME")
            os.environ.update({key: value for key, value in old.items() if value is not None})
        for function, items in ((None, [1]), (3, [1]), (len, None), (len, 3), (len, b"x"), (len, [object()])):
            self.assertRaises(qb.Error, self.farm.map, function, items)
        for ids in (b"x", [b"1"], {1: 2}, None, 2.0):  # bytes are numbers, but those of no jobs
            self.assertRaises(qb.Error, qb.kill, ids)
        with self.assertRaises(qb.Error) as caught:
            qb.genchunks(2.5, "1-3")
        self.assertEqual(str(caught.exception), "genchunks: size is 2.5; give a whole number")

    GOS = re.compile(r"\bmap\[|interface|\bnil\b|unmarshal|\bGo (struct|value)|struct field|\b(u?int|float)(8|16|32|64)\b|of type (int|string|bool)|(submit|modify)Request")

    def works_or_refuses(self, call):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = call()
                if inspect.isgenerator(answer):
                    for _ in zip(range(3), answer):
                        pass
        except qb.Error as error:
            self.assertNotRegex(str(error), self.GOS)
            self.assertGreater(len(str(error)), 4)
            for one in error.errors:
                self.assertNotRegex(one["message"], self.GOS)

    def test_members_of_a_wrong_type(self):
        """What is wrong with a member is said in the words of JSON, with its name."""
        job = self.farm.submit("sleep 600", status="blocked")
        document = self.farm.request("GET", "/v1/openapi.json")["components"]["schemas"]
        for path, method, schema in (("/v1/jobs", "POST", "SubmitRequest"), ("/v1/jobs/%d" % job.id, "PATCH", "ModifyRequest"), ("/v1/jobs/%d/orders/block" % job.id, "POST", "ActionRequest")):
            for member in document[schema]["properties"]:
                for value in (2.5, 1e300, -1, "x", True, [], [1], [[]], {}, {"a": 1}, {"a": {}}, [None], 10 ** 30):
                    body = {member: value}
                    if schema == "SubmitRequest" and member not in ("command", "items"):
                        body["command"] = ["true"]
                    with self.subTest(schema=schema, member=member, value=value):
                        try:
                            made = self.farm.request(method, path, body=body)
                        except qb.Error as error:
                            said = str(error) + json.dumps(error.errors)
                            self.assertNotRegex(said, self.GOS)
                            self.assertIn(error.status, (400, 403, 404, 409, 413, 422))
                        else:
                            if schema == "SubmitRequest":
                                self.farm.job(made["job"]).kill()
        job.kill()

    def test_labels(self):
        jobs = qb.submit([{"name": "c", "label": "comp", "dependency": "link-complete-job-left,link-done-job-right", "package": {"cmdline": "true"}},
                          {"name": "l", "label": "left", "package": {"cmdline": "true"}}, {"name": "r", "label": "right", "package": {"cmdline": "false"}}])
        self.assertEqual([job["name"] for job in jobs], ["c", "l", "r"])
        self.assertTrue(qb.waitfor(jobs, timeout=60))
        self.assertEqual(qb.jobinfo(id=jobs[0])[0]["dependency"], "link-complete-job-%d,link-done-job-%d" % (jobs[1]["id"], jobs[2]["id"]))
        self.assertEqual([(info["pgrp"], info["label"]) for info in qb.jobinfo(id=jobs)], [(jobs[1]["id"], label) for label in ("left", "right", "comp")])
        self.assertEqual([job["pgrp"] for job in jobs], 3 * [jobs[1]["id"]])
        again = qb.submit(dict(qb.jobinfo(id=jobs[1])[0], status="blocked"))[0]
        self.assertEqual(qb.jobinfo(id=again)[0]["pgrp"], again["id"])
        qb.kill(again)
        for links in (("link-done-job-b", "link-done-job-a"), ("link-done-job-none", ""), ("", "link-done-job-b")):
            with self.assertRaises(qb.Error) as caught:
                qb.submit([{"name": "refused", "label": label, "dependency": link, "package": {"cmdline": "true"}} for label, link in zip("ab", links)])
            self.assertEqual(caught.exception.code, "usage")
        self.assertEqual([job["id"] for job in qb.jobinfo() if job["name"] == "refused"], [])

    def test_filters(self):
        name = "filters %d" % time.time_ns()
        first, second = qb.submit([{"name": name, "priority": 71, "prod_show": "heron", "status": "blocked", "package": {"cmdline": "true"}},
                                   {"name": name, "priority": 72, "prod_show": "egret", "status": "blocked", "package": {"cmdline": "true"}}])

        def ids(**wanted):
            return [job["id"] for job in qb.jobinfo(filters=dict(wanted, name=name))]

        self.assertEqual(ids(priority=72), [second["id"]])
        self.assertEqual(ids(priority=[71, 72]), [first["id"], second["id"]])
        self.assertEqual(ids(prod_show="heron", prototype="cmdline"), [first["id"]])
        self.assertEqual((ids(status="badlogin"), ids(status="badlogin,blocked")), ([], [first["id"], second["id"]]))
        self.assertEqual([job["id"] for job in qb.jobinfo(name=name, orderby="-priority", limit=1)], [second["id"]])
        self.assertEqual(set(qb.jobtagvalues("prod_show")) & {"heron", "egret"}, {"heron", "egret"})
        qb.kill(first, second)

    def test_items_of_a_job(self):
        job = qb.submit({"name": "items", "agenda": qb.genframes("1-6"), "status": "blocked", "package": {"cmdline": "true"}})[0]
        works = qb.jobinfo(id=job, agenda=True)[0]["agenda"]
        self.assertEqual(qb.killwork(works[0], "%d:2-3" % job["id"]), ["%d:1" % job["id"], "%d:2-3" % job["id"]])
        self.assertEqual(qb.kill("%d:4" % job["id"]), ["%d:4" % job["id"]])
        for bad in ("x", "12:", "12.x", "-3"):
            with self.assertRaises(qb.Error) as caught:
                qb.kill(bad)
            self.assertEqual(caught.exception.code, "usage")
        self.assertEqual((qb.kill("%d.7" % job["id"]), qb.migrate(job)), ([], []))
        self.assertEqual(qb.retire("%d:5" % job["id"]), ["%d:5" % job["id"]])
        self.assertEqual(self.farm.job(job["id"]).order("kill", item_states=["running"])["affected"], 0)
        self.assertEqual(qb.unblock(job), [job["id"]])
        self.assertTrue(qb.waitfor(job, timeout=60))
        figures = qb.stats(job)[0]
        self.assertEqual((figures["todo"], figures["todotally"]["killed"], figures["attempts"]), (6, 4, 1))
        self.assertEqual(qb.remove(job), [job["id"]])
        with self.assertRaises(qb.Error) as caught:
            self.farm.job(job["id"]).info()
        self.assertEqual(caught.exception.code, "not-found")

    def test_flags_by_number(self):
        job = qb.submit({"flags": 1 + 512, "status": "blocked", "package": {"cmdline": "true"}})[0]
        self.assertEqual(set(qb.jobinfo(id=job)[0]["flags"].split(",")), {"uninterruptible", "elite"})
        qb.kill(job)
        for bad in (-1, 1 << 20):
            with self.assertRaises(qb.Error):
                qb.validatejob({"flags": bad, "package": {"cmdline": "true"}})

    def test_archives(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "job.json")
            job = qb.Job(name="archived", priority=33, agenda=qb.genchunks(2, "1-4"), package={"cmdline": ["echo", "a b", "QB_FRAME_RANGE"]})
            self.assertTrue(qb.archivejob(file, qb.submit(job)[0]))
            again = qb.submit(qb.recoverjob(file))[0]
            self.assertTrue(qb.waitfor(again, timeout=60))
            self.assertEqual(qb.stdout("%d:3-4" % again["id"]), "a b 3-4\n")
            self.assertEqual(qb.jobinfo(id=again)[0]["priority"], 33)
            with self.assertRaises(qb.Error):
                qb.archivejob(file, {"name": "nothing to run"})
            for submitted in (again["id"], qb.jobinfo(id=again)[0]):
                self.assertTrue(qb.archivejob(file, submitted))
                third = qb.recoverjob(file)
                self.assertEqual((third["name"], third["priority"], third["package"]["range"], third["package"]["chunk"]), ("archived", 33, "1-4", 2))
            third = qb.submit(third)[0]
            self.assertTrue(qb.waitfor(third, timeout=60))
            self.assertEqual(qb.stdout("%d:3-4" % third["id"]), "a b 3-4\n")
            with self.assertWarns(UserWarning):
                waits = qb.submit({"name": "placed", "cpus": 1, "reservations": "host.memory=1PiB", "package": {"cmdline": "true"}})[0]
            placed = {row["name"]: row for row in qb.hostorder(waits)}
            for name, row in placed.items():
                self.assertEqual((row["place"], bool(row["code"])), (0, True))
                self.assertIn((waits["id"], 0), [(one["id"], one["place"]) for one in qb.joborder(name)])
            self.assertTrue(placed)
            qb.kill(waits)
            with open(file, "w", encoding="utf-8") as damaged:
                damaged.write("[")
            with self.assertRaises(qb.Error):
                qb.recoverjob(file)

    def test_agendas(self):
        def items(agenda):
            job = qb.submit({"name": "agenda", "agenda": agenda, "status": "blocked", "package": {"cmdline": "true"}})[0]
            names = [work["name"] for work in qb.jobinfo(id=job, agenda=True)[0]["agenda"]]
            qb.kill(job)
            return names

        chunks = qb.genchunks(3, "1-9")
        self.assertEqual(items(chunks), ["1-3", "4-6", "7-9"])
        del chunks[0]
        self.assertEqual(items(chunks), ["4-6", "7-9"])
        self.assertEqual(items(qb.genpartitions(2, "1-5")), ["1-3", "4-5"])
        chance = random.Random(42)
        for _ in range(25):
            text = ",".join("%d-%dx%d" % (chance.randint(-9, 30), chance.randint(-9, 30), chance.randint(1, 7)) for _ in range(chance.randint(1, 4)))
            chunks, parts = qb.genchunks(chance.randint(1, 6), text), qb.genpartitions(chance.randint(1, 6), text)
            self.assertEqual(items(chunks), [work["name"] for work in chunks], text)
            self.assertEqual(items(parts), [work["name"] for work in parts], text)
        self.assertEqual(items(["left", "right", 7]), ["left", "right", "7"])
        self.assertEqual(items(qb.genframes("1-5", binary=True)), ["1", "5", "3", "2", "4"])
        with self.assertRaises(qb.Error):
            items(["1-3", "4-9"])

    def test_the_farm(self):
        host = qb.hostinfo()[0]["name"]
        self.assertEqual(qb.workerping(host, asDict=True)["name"], host)
        self.assertGreater(qb.workerconfig(host)["worker_cpus"], 0)
        with self.assertRaises(qb.Error) as caught:
            qb.workerping("nobody")
        self.assertEqual(caught.exception.code, "not-found")
        with self.assertRaises(qb.Error):
            qb.workerlock(host, "host.processor_0=1")
        self.assertIn("supervisor_max_cpus_limit", qb.supervisorconfig())
        self.assertIsInstance(qb.getresources(), dict)
        self.assertEqual(qb.bannedworkers(), [])
        self.assertTrue(qb.isadmin())
        self.assertIsInstance(qb.getusers(), list)
        self.assertIn("remarks", qb.admincommand("--reread"))
        with self.assertRaises(qb.Error):
            qb.admincommand("halt")
        self.assertEqual(qb.localconfig()["qb_supervisor"], qb.getsupervisor())

    def test_preferences(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = os.environ.get("XDG_CONFIG_HOME")
            os.environ["XDG_CONFIG_HOME"] = folder
            try:
                self.assertIsNone(qb.getpreference("columns"))
                self.assertTrue(qb.setpreference("columns", ["id", "name"]))
                self.assertEqual(qb.getpreference("columns"), ["id", "name"])
                self.assertTrue(qb.deletepreference("columns"))
                self.assertFalse(qb.deletepreference("columns"))
            finally:
                del os.environ["XDG_CONFIG_HOME"]
                if kept is not None:
                    os.environ["XDG_CONFIG_HOME"] = kept

    def test_back_end(self):
        """A back end of Qube's is the program of a load-once job as it is."""
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            with open(os.path.join(folder, "execute.py"), "w", encoding="utf-8") as file:
                file.write(BACK_END)
            job = qb.Job({"name": "shot 7", "prototype": "loadonce", "cpus": 1, "max_cpus": 1, "cwd": folder, "pathmap": ["/show=/mnt/show"],
                          "env": {"PYTHONPATH": os.path.dirname(qb.__file__)},
                          "package": {"cmdline": [sys.executable, "execute.py"], "scene": {"shot": ["7"]}}})
            job["agenda"] = qb.genframes("1-6")
            job, = qb.submit(job)
            end = self.farm.job(job["id"]).wait(60, check=False)
            items = list(self.farm.job(job["id"]).items())
            self.assertEqual([item["status"] for item in items], ["complete", "complete", "failed", "complete", "failed", "complete"], end["reason"])
            self.assertEqual([items[2]["exit_code"], items[4]["code"]], [1, "no_report"])
            self.assertEqual([(one["outputpaths"], one["result"]) for one in self.farm.job(job["id"]).attempts() if one["item"] == "2"],
                             [(["/mnt/show/out/2.exr"], {"seconds": 0.5})])
            output = [qb.stdout("%d:%d" % (job["id"], number)) for number in range(1, 7)]
            loaded = "loaded {'shot': ['7']} for job %d.0 of shot 7" % job["id"]
            self.assertEqual([loaded in one for one in output], [True, False, False, True, False, True])  # a failure ends the program
            pids = [re.findall(r"frame \d in process (\d+)", one)[0] for one in output]
            self.assertEqual([pids[0] == pids[1] == pids[2], pids[3] == pids[4], len(set(pids))], [True, True, 3])

    def test_back_end_elsewhere(self):
        """What is no program of a load-once job is refused, and who loses its connection has an error."""
        kept = {key: os.environ.pop(key, None) for key in ("QB_WORK", "QBJOBID", "QBSUBID")}
        try:
            for call in (qb.jobobj, qb.requestwork, qb.workerpathmap, qb.jobid, qb.subid, lambda: qb.convertpath("/a"), lambda: qb.reportjob("complete"),
                         lambda: qb.reportjob("well"), lambda: qb.reportwork({}), lambda: qb.reportwork({"id": 1, "count": 1, "resultpackage": "x"})):
                with self.assertRaises(qb.Error) as caught:
                    call()
                self.assertEqual(caught.exception.code, "usage")
            with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
                os.environ["QB_WORK"] = os.path.join(folder, "work")
                server.bind(os.environ["QB_WORK"])
                server.listen()
                replies = [b'{"status":"waiting"}\n', b'{"status":"ok","job":{"paths":[{"from":"P:\\\\","to":"/mnt/p"},{"from":"/show","to":"/mnt/s/"}]}}\n',
                           b'{"error":"not_yours","detail":"it was stopped"}\n', b"half"]

                def answer():
                    peer, _ = server.accept()
                    with peer, peer.makefile("rb") as requests:
                        for reply in replies:
                            requests.readline()
                            peer.sendall(reply)
                threading.Thread(target=answer, daemon=True).start()
                qb._session().paths = None
                self.assertEqual(qb._session().ask("requestwork")["status"], "waiting")
                for path, mapped in (("p:/x\\y.ma", "/mnt/p/x/y.ma"), ("P:", "/mnt/p"), ("/show/a", "/mnt/s/a"), ("/showing", "/showing"), ("/Show/a", "/Show/a")):
                    self.assertEqual(qb.convertpath(path), mapped)
                for code in ("not_yours", "unreachable"):
                    with self.assertRaises(qb.Error) as caught:
                        qb.reportwork({"id": 1, "count": 1, "status": "complete"})
                    self.assertEqual(caught.exception.code, code)
        finally:
            os.environ.pop("QB_WORK", None)
            os.environ.update({key: value for key, value in kept.items() if value is not None})

    def test_what_is_not_there(self):
        self.assertFalse(hasattr(qb, "jobconfig"))
        with self.assertRaises(qb.Error) as caught:
            qb.jobconfig("maya", "version")
        self.assertEqual(caught.exception.code, "unsupported")
        with self.assertRaises(AttributeError):
            qb.nosuchthing()
        with self.assertRaises(qb.Error) as caught:
            self.farm.submit("true", status="blocked").order("nosuchorder")
        self.assertEqual(caught.exception.code, "unsupported")

    def test_ping(self):
        self.assertIn("version", qb.ping(asDict=True))
        self.assertIn("version=", qb.ping())


class Restart(unittest.TestCase):
    """A farm of its own, which is killed and starts again below a program that follows it; its item runs on meanwhile."""

    def start(self, folder, listen):
        environment = dict(os.environ, QB_CONF=os.devnull, QB_SUPERVISOR_KILL_GRACE="1s")
        with open(os.path.join(folder, "log"), "ab") as log:
            farm = subprocess.Popen(["qb", "farm", "-state", os.path.join(folder, "farm"), "-listen", listen, "-hosts", "1", "-slots", "2"],
                                    stdout=subprocess.PIPE, stderr=log, env=environment, universal_newlines=True)
        self.addCleanup(farm.stdout.close)
        self.addCleanup(farm.wait)
        self.addCleanup(farm.terminate)
        line = farm.stdout.readline()
        with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as log:
            self.assertTrue(line.startswith("ready "), log.read())
        return farm, line.split()[1]

    def begin(self):
        """A folder, the farm in it as a process, its address, and a client that stays."""
        folder = tempfile.mkdtemp()
        os.chmod(folder, 0o711)
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", folder], check=True))
        first, url = self.start(folder, "127.0.0.1:0")
        with open(os.path.join(folder, "farm", "farm.json"), encoding="utf-8") as file, open(json.load(file)["token_file"], encoding="utf-8") as token:
            return folder, first, url, qb.Client(url, token=token.read().strip(), retry=60)

    def test_load_goes_on(self):
        """Six programs at once submit, change, list and wait, and one maps, while the supervisor is killed: each job is made once, each ends."""
        folder, first, url, farm = self.begin()
        submitted, failures, results = [], [], []

        def guarded(work, *args):
            try:
                work(*args)
            except BaseException as failed:
                failures.append(failed)

        def program(number):
            for count in range(20):
                job = farm.submit("true", name="load %d-%d" % (number, count), range="1-2", priority=500 + number, status="blocked")
                job.modify(priority=100 + count)
                self.assertEqual(job.order("unblock")["affected"], 2)
                submitted.append(job)
                self.assertIn(job.id, [row["id"] for row in farm.jobs(name="load %d-%d" % (number, count))])

        threads = [threading.Thread(target=guarded, args=(program, number)) for number in range(6)]
        threads.append(threading.Thread(target=guarded, args=(lambda: results.extend(farm.map(double, range(40), folder=folder, chunk=4, cpus=2)),)))
        for thread in threads:
            thread.start()
        end = time.monotonic() + 60
        while len(submitted) < 30 and time.monotonic() < end and not failures:
            time.sleep(0.05)
        first.kill()
        first.wait(60)
        self.start(folder, url.rpartition("/")[2])
        for thread in threads:
            thread.join(180)
        self.assertEqual(failures, [])
        self.assertEqual(results, [2 * n for n in range(40)])
        for job in submitted:
            self.assertEqual(job.result(120)["items"]["complete"], 2)
        names = [row["name"] for row in farm.jobs() if row["name"].startswith("load ")]
        self.assertEqual(sorted(names), sorted("load %d-%d" % (number, count) for number in range(6) for count in range(20)))

    def test_streams_go_on(self):
        folder, first, url, farm = self.begin()
        job = farm.submit("echo before; while ! test -e %s/go; do sleep 0.1; done; echo after" % folder)
        seen, pieces = [], []

        def events():
            for event in farm.events():
                seen.append((event["job"], event["type"]))
                if event["type"] == "reset":  # events were missed, so the list is read again
                    seen.extend((row["id"], "job-" + row["status"]) for row in farm.jobs())
                if any(type == "job-complete" and id != job.id for id, type in seen):
                    return

        threads = [threading.Thread(target=events, daemon=True), threading.Thread(target=lambda: pieces.extend(job.output(0, follow=True)), daemon=True)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 60
        while b"before" not in b"".join(pieces) and time.monotonic() < end:
            time.sleep(0.1)
        first.kill()
        first.wait(60)
        self.start(folder, url.rpartition("/")[2])
        other = farm.submit("true")
        self.assertEqual(other.result(60)["status"], "complete")
        threads[0].join(60)
        self.assertIn((other.id, "job-complete"), seen)
        with open(os.path.join(folder, "go"), "w", encoding="utf-8"):
            pass
        self.assertEqual(job.result(60)["status"], "complete")
        threads[1].join(60)
        self.assertEqual(b"".join(pieces), b"before\nafter\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
