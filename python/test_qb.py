"""Tests of qb.py: ranges by themselves, everything else on a real farm, which QB_SUPERVISOR or QB_STATE names."""

import os
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
        self.assertEqual(qb.rangepartition("1-10", 3), ["1-4", "5-7", "8-10"])
        self.assertEqual(qb.rangepartition("1-2", 5), ["1", "2"])
        self.assertEqual([work["name"] for work in qb.genframes("1-3")], ["1", "2", "3"])
        with self.assertRaises(qb.Error):
            qb.rangechunk("1-3", 0)


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

    def test_map(self):
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            self.assertEqual(self.farm.map(double, range(5), folder=folder), [0, 2, 4, 6, 8])
            with self.assertRaises(KeyError):
                self.farm.map(fails_at_three, range(5), folder=folder)
            self.assertEqual(self.farm.map(double, [], folder=folder), [])
            with self.assertRaises(qb.Error):
                self.farm.map(lambda value: value, [1], folder=folder)
            self.assertEqual(os.listdir(folder), [])

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
            qb.kill(qb.submit({"package": {"cmdline": "true"}, "notes": "for later", "status": "blocked"}))
        self.assertTrue([one for one in caught if "notes" in str(one.message)])

    def test_ping(self):
        self.assertIn("version", qb.ping(asDict=True))
        self.assertIn("version=", qb.ping())


if __name__ == "__main__":
    unittest.main(verbosity=2)
