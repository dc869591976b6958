"""qb: submit and manage the jobs of a qb farm.

One file for Python 3.9 and later, with the standard library only. It has two layers:

* ``qb.Client``: jobs as objects, iterators over jobs, events and output, futures, and ``map``.

      import qb
      farm = qb.Client()
      job = farm.submit(["render", "scene.ma", "QB_FRAME_NUMBER"], range="1-100", cpus=10, max_cpus=50)
      job.wait()
      for item in job.items(status="failed"):
          print(item["name"], item["reason"])

* Functions and dictionaries with the names of Qube!'s Python API, for scripts that were written for it:

      job = qb.Job({"name": "beauty", "prototype": "cmdrange", "cpus": 10,
                    "package": {"cmdline": "render scene.ma QB_FRAME_NUMBER"}})
      job["agenda"] = qb.genframes("1-100")
      print(qb.submit(job)[0]["id"])

The farm is found as the commands find it: QB_SUPERVISOR (a URL or unix:PATH, several separated by commas), else that of `qb login`
unless QB_STATE is set, else farm.json in the state folder, else the farm of this machine. The token is QB_TOKEN, or the first line of
the file QB_TOKEN_FILE, or that of `qb login` at its farm; on the unix socket none is needed.

Errors are ``qb.Error``; its ``code`` is the server's (docs/codes.md), on which programs may branch.
"""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import datetime
import hashlib
import http.client
import inspect
import json
import os
import pickle
import random
import re
import shutil
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

__version__ = "0.1.0"

ENDED = ("complete", "failed", "killed")
_RUN_FOLDER, _STATE_FOLDER = "/run/qb", "/var/lib/qb"
_MAX_ANSWER = 256 << 20  # bytes of one answer
_MAX_LINE = 1 << 20      # bytes of one line of a stream
_MAX_LOGIN = 64 << 10    # bytes of login.json


class Error(Exception):
    """A request that failed.

    code    what is wrong, for programs: the server's code, or "unreachable", "usage", "timeout"
    status  the HTTP status; 0 if there was no answer
    detail  the same for people
    errors  the members that are wrong, each {"location": …, "message": …}
    """

    def __init__(self, code: str, detail: str, status: int = 0, errors: Sequence[Mapping[str, Any]] = ()):
        super().__init__(detail)
        self.code, self.detail, self.status, self.errors = code, detail, status, list(errors)


class JobFailed(Error):
    """A job that was waited for ended as failed or killed; ``job`` is what the farm says of it."""

    def __init__(self, job: Mapping[str, Any]):
        super().__init__("job-" + job["status"], "job %d %s is %s: %s" % (job["id"], job["name"], job["status"], job["reason"]))
        self.job = job


# ---- where the farm is ----

def _state_folder() -> str:
    if os.environ.get("QB_STATE"):
        return os.path.abspath(os.environ["QB_STATE"])
    if os.geteuid() == 0:
        return _STATE_FOLDER
    base = os.environ.get("XDG_STATE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.local/state"), "qb")


def _find() -> List[str]:
    """The addresses of the farm, the best first."""
    named = os.environ.get("QB_SUPERVISOR", "")
    if not named and not os.environ.get("QB_STATE"):
        named = _login().get("url", "")
    if named:
        return _addresses(named)
    folders = [_state_folder()]
    if not os.environ.get("QB_STATE") or folders[0] == _STATE_FOLDER:
        folders.append(_RUN_FOLDER)
    for folder in folders:
        try:
            with open(os.path.join(folder, "farm.json"), encoding="utf-8") as file:
                farm = json.load(file)
        except (FileNotFoundError, PermissionError):
            continue
        except ValueError as error:
            raise Error("usage", "%s/farm.json is damaged (%s); start qb farm again, or set QB_SUPERVISOR" % (folder, error)) from error
        if farm.get("socket"):
            return ["unix:" + farm["socket"]]
        if farm.get("url"):
            return [farm["url"]]
    raise Error("unreachable", "no farm found; start one with qb farm, or set QB_SUPERVISOR to its address")


def _addresses(named: str) -> List[str]:
    return [one.strip() for one in named.split(",") if one.strip()]


def _login() -> Dict[str, str]:
    """What the last `qb login` of this user left; {} if there was none. A file of another user is none of ours."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    name = os.path.join(base, "qb", "login.json")
    try:
        with open(name, "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return {}
            login = json.loads(file.read(_MAX_LOGIN))
        if isinstance(login, dict) and all(isinstance(login.get(key), str) and login[key] for key in ("url", "token")):
            return login
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {}
    except ValueError:
        pass
    raise Error("usage", "%s is damaged; remove it and log in again with qb login" % name)


def _token(addresses: Sequence[str]) -> str:
    """The token for these addresses. That of a login goes to the farm of the login alone."""
    if os.environ.get("QB_TOKEN"):
        return os.environ["QB_TOKEN"].strip()
    name = os.environ.get("QB_TOKEN_FILE")
    if not name:
        login = _login()
        return login["token"] if login and set(addresses) <= set(_addresses(login["url"])) else ""
    try:
        with open(name, encoding="utf-8") as file:
            return file.readline(4096).strip()
    except OSError as error:
        raise Error("usage", "QB_TOKEN_FILE: %s" % error) from error


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket, to nobody but root, ourselves and the owner of the farm's folder."""

    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
        size = struct.calcsize("3i")
        _, uid, _ = struct.unpack("3i", self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        trusted = {0, os.geteuid()}
        for folder in (_RUN_FOLDER, _STATE_FOLDER):
            with contextlib.suppress(OSError):
                trusted.add(os.stat(folder).st_uid)
        if uid not in trusted:
            self.sock.close()
            raise Error("unreachable", "%s: uid %d answers there, which is neither root nor you nor the farm's account; nothing was sent" % (self.path, uid))


# ---- whom to trust ----

def _element(data: bytes, at: int, tag: int) -> Tuple[int, int]:
    """Where the content of a DER element begins and ends. Lengths in forms that only BER has are refused: other readers would see
    other elements there."""
    if at + 2 > len(data) or data[at] != tag:
        raise ValueError("no element of type 0x%02x" % tag)
    size, start = data[at + 1], at + 2
    if size >= 0x80:
        count = size - 0x80
        size = int.from_bytes(data[start:start + count], "big")
        start += count
        if not 1 <= count <= 3 or size < (0x80 if count == 1 else 1 << (8 * count - 8)):
            raise ValueError("a length that is not DER's")
    if start + size > len(data):
        raise ValueError("an element that goes beyond the end")
    return start, start + size


_SEQUENCE, _INTEGER, _VERSION = 0x30, 0x02, 0xA0


def _fingerprint(certificate: bytes) -> str:
    """The fingerprint of a certificate's public key, as tokens carry it."""
    at, end = _element(certificate, 0, _SEQUENCE)
    if end != len(certificate):
        raise ValueError("more than a certificate")
    at, _ = _element(certificate, at, _SEQUENCE)
    for tag in (_VERSION, _INTEGER, _SEQUENCE, _SEQUENCE, _SEQUENCE, _SEQUENCE):  # to the subject
        _, at = _element(certificate, at, tag)
    _, end = _element(certificate, at, _SEQUENCE)
    return base64.urlsafe_b64encode(hashlib.sha256(certificate[at:end]).digest()).rstrip(b"=").decode()


def _pinned(host: str, port: Optional[int], fingerprint: str, timeout: float) -> ssl.SSLContext:
    """Trusts certificates of the authority with that fingerprint alone, under whatever name. The supervisor shows the authority's
    certificate in a handshake after which nothing is sent."""
    look = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    look.check_hostname, look.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((host, port or 443), timeout) as plain, look.wrap_socket(plain, server_hostname=host) as shown:
        chain = getattr(shown, "get_unverified_chain", None) or getattr(getattr(shown, "_sslobj", None), "get_unverified_chain", None)
        if chain is None:
            raise Error("usage", "this Python cannot check the fingerprint in the token: use 3.10 or later, or name what `qb ca show -pem` prints as ca_file or QB_CA_FILE")
        certificates = [one if isinstance(one, bytes) else ssl.PEM_cert_to_DER_cert(one.public_bytes()) for one in chain()]
    for one in certificates[1:]:
        with contextlib.suppress(ValueError):
            if _fingerprint(one) == fingerprint:
                trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                trust.check_hostname = False
                trust.load_verify_locations(cadata=one)
                return trust
    raise Error("untrusted", "nothing was sent to %s: its certificate is of another authority than the one that the token names (%s); ask the farm's administrator for a new token"
                % (host, fingerprint))


# ---- the client ----

class Client:
    """A farm.

    address  a URL or unix:PATH, several separated by commas; default: as the commands find it
    token    default: QB_TOKEN, or the file QB_TOKEN_FILE, or that of `qb login` at its farm
    timeout  seconds for one answer
    retry    seconds for which a request is repeated while the farm cannot be reached; a change is made once however often it is
             sent
    ca_file  for https: the certificate of the farm's authority, which `qb ca show -pem` prints; default: QB_CA_FILE, else the
             authority whose fingerprint is at the end of the token, else those that this machine trusts
    """

    def __init__(self, address: Optional[str] = None, token: Optional[str] = None, timeout: float = 60, retry: float = 30,
                 ca_file: Optional[str] = None):
        self.addresses = _addresses(address) if address else _find()
        self.token, _, self._authority = (_token(self.addresses) if token is None else token).partition(".")
        self.timeout, self.retry = timeout, retry
        self.ca_file = ca_file or os.environ.get("QB_CA_FILE") or None
        self._trust: Dict[str, ssl.SSLContext] = {}  # of addresses, by the fingerprint of the token

    def __repr__(self) -> str:
        return "qb.Client(%r)" % ",".join(self.addresses)

    # requests

    def _connect(self, address: str, timeout: float) -> http.client.HTTPConnection:
        if address.startswith("unix:"):
            return _UnixConnection(address[len("unix:"):], timeout)
        url = urllib.parse.urlsplit(address)
        if url.scheme == "https":
            if self._authority and not self.ca_file:
                if address not in self._trust:
                    self._trust[address] = _pinned(url.hostname or "", url.port, self._authority, timeout)
                trust = self._trust[address]
            else:
                try:
                    trust = ssl.create_default_context(cafile=self.ca_file)
                except (OSError, ssl.SSLError) as error:
                    raise Error("usage", "ca_file %s: %s" % (self.ca_file, error)) from error
            return http.client.HTTPSConnection(url.hostname or "", url.port, timeout=timeout, context=trust)
        if url.scheme != "http" or not url.hostname:
            raise Error("usage", "%r is no address: write http://HOST:PORT, https://HOST:PORT or unix:PATH" % address)
        if url.hostname != "localhost" and not url.hostname.startswith("127.") and url.hostname != "::1":
            raise Error("usage", "%r: a token crosses the network only with https" % address)
        return http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)

    def _once(self, address: str, method: str, path: str, body: Optional[bytes], headers: Dict[str, str], timeout: float) -> http.client.HTTPResponse:
        connection = self._connect(address, timeout)
        sent = dict(headers)
        if self.token:
            sent["Authorization"] = "Bearer " + self.token
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        answer.connection = connection  # type: ignore[attr-defined] # kept until the answer is read
        return answer

    def _open(self, method: str, path: str, query: Mapping[str, Any] = {}, body: Any = None, headers: Mapping[str, str] = {},
              timeout: Optional[float] = None) -> http.client.HTTPResponse:
        """Sends a request until somebody answers it, for self.retry seconds at most; every change carries a key, so that it
        is made once."""
        given = {name: _query(value) for name, value in query.items() if value is not None}
        if given:
            path += "?" + urllib.parse.urlencode(given)
        sent = dict(headers)
        data = None
        if body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        if method != "GET":
            sent.setdefault("Idempotency-Key", uuid.uuid4().hex)
        end, wait = time.monotonic() + self.retry, 0.1
        while True:
            failed = Error("unreachable", "no address")
            for address in self.addresses:
                try:
                    answer = self._once(address, method, path, data, sent, timeout or self.timeout)
                except ssl.SSLCertVerificationError as error:
                    self._trust.pop(address, None)  # the farm may have a new authority
                    raise Error("untrusted", "nothing was sent to %s: %s; name the file that `qb ca show -pem` prints on the farm's machine, as ca_file or QB_CA_FILE"
                                % (address, error.verify_message)) from error
                except (OSError, http.client.HTTPException) as error:
                    failed = Error("unreachable", "%s: %s" % (address, error or type(error).__name__))
                    continue
                if answer.status < 300:
                    return answer
                failed = _refusal(answer)
                if not _again(failed):
                    raise failed
            if time.monotonic() + wait > end:
                raise failed
            time.sleep(wait * (0.5 + random.random() / 2))
            wait = min(2 * wait, 3.0)

    def request(self, method: str, path: str, query: Mapping[str, Any] = {}, body: Any = None, headers: Mapping[str, str] = {}) -> Any:
        """Any endpoint of the REST interface (GET /docs lists them); the answer's JSON."""
        return self._request(method, path, query, body, headers)[0]

    def _request(self, method: str, path: str, query: Mapping[str, Any] = {}, body: Any = None,
                 headers: Mapping[str, str] = {}) -> Tuple[Any, http.client.HTTPResponse]:
        answer = self._open(method, path, query, body, headers)
        try:
            data = answer.read(_MAX_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            raise Error("unreachable", "the answer broke off: %s" % (error or type(error).__name__)) from error
        finally:
            answer.connection.close()  # type: ignore[attr-defined]
        if len(data) > _MAX_ANSWER:
            raise Error("invalid", "the answer is longer than %d bytes" % _MAX_ANSWER)
        return (json.loads(data) if data else None), answer

    def _pages(self, path: str, query: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
        while path:
            rows, answer = self._request("GET", path, query)
            yield from rows
            path, query = _next_page(answer.headers.get("Link", "")), {}

    # jobs

    def submit(self, command: Union[str, Sequence[str]], **attributes: Any) -> "JobHandle":
        """Submits a job. A text is a line for /bin/sh, a list is a program with its arguments; tokens such as QB_FRAME_NUMBER are
        replaced in both. Attributes are those of POST /v1/jobs: name, range, cpus, max_cpus (a number or "*"), priority,
        cluster, cwd (by default the current folder), env, reservations, dependency, …"""
        body = dict(attributes)
        if isinstance(command, str):
            body["command"], body["shell"] = [command], True
        else:
            body["command"] = [str(word) for word in command]
        if body.get("max_cpus") == "*":
            body["max_cpus"] = -1
        body.setdefault("cwd", os.getcwd())
        reply = self.request("POST", "/v1/jobs", body=body)
        for remark in reply["remarks"]:
            warnings.warn("job %d: %s" % (reply["job"], remark), stacklevel=2)
        return JobHandle(self, reply["job"])

    def job(self, id: int) -> "JobHandle":
        """The job of that number; whether there is one is known when it is asked for."""
        return JobHandle(self, int(id))

    def jobs(self, **filters: Any) -> Iterator[Dict[str, Any]]:
        """All jobs that pass the filters, the newest first, page by page: user, status, name, cluster, tags, ids,
        changed_since, finished_since."""
        return self._pages("/v1/jobs", filters)

    def hosts(self) -> List[Dict[str, Any]]:
        """All hosts."""
        return self.request("GET", "/v1/hosts")

    def events(self, after: Optional[str] = None, **filters: Any) -> Iterator[Dict[str, Any]]:
        """What happens, as it happens, for ever; each event has its ``id``. ``after`` is the id of the last one that is known. A
        stream that breaks goes on behind its last event. An event of the type "reset" says that events were missed: read the
        lists afresh."""
        while True:
            headers = {"Accept": "text/event-stream"}
            if after:
                headers["Last-Event-ID"] = after
            answer = self._open("GET", "/v1/events", filters, headers=headers, timeout=90)
            try:
                for name, id, data in _server_sent(answer):
                    after = id or after
                    if data:
                        event = json.loads(data)
                        if isinstance(event, dict):
                            event.setdefault("id", id)
                            event.setdefault("type", name)
                            yield event
            except (OSError, http.client.HTTPException):
                pass
            finally:
                answer.connection.close()  # type: ignore[attr-defined]
            time.sleep(0.2)

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], folder: Optional[str] = None, **attributes: Any) -> List[Any]:
        """Calls function(item) for each item on the farm, as one job, and returns the results in order.

        The function must be found by its name in a file, as with multiprocessing: not a lambda, not one of an interactive session.
        Items and results are pickled into ``folder`` (by default a new one in the current folder), which all hosts must see
        under the same path. An exception in the function is raised here, after all items have ended. Attributes are those of submit.
        """
        values = list(items)
        if not values:
            return []
        where = _locate(function)
        base = os.path.abspath(folder or os.getcwd())
        work = tempfile.mkdtemp(prefix="qb-map-", dir=base)
        try:
            for number, value in enumerate(values):
                with open(os.path.join(work, "%d.item" % number), "wb") as file:
                    pickle.dump(value, file)
            with open(os.path.join(work, "call.json"), "w", encoding="utf-8") as file:
                json.dump(where, file)
            given = {"name": "map " + where["name"], "range": "0-%d" % (len(values) - 1)}
            given.update(attributes)
            job = self.submit([sys.executable, os.path.abspath(__file__), "--call", work, "QB_FRAME_NUMBER"], **given)
            end = job.wait(check=False)
            return _results(work, len(values), end)
        finally:
            shutil.rmtree(work, ignore_errors=True)


class JobHandle:
    """A job of a farm."""

    def __init__(self, client: Client, id: int):
        self.client, self.id = client, id

    def __repr__(self) -> str:
        return "qb.JobHandle(%d)" % self.id

    @property
    def _path(self) -> str:
        return "/v1/jobs/%d" % self.id

    def info(self) -> Dict[str, Any]:
        """What the farm says of it now."""
        return self.client.request("GET", self._path)

    def modify(self, **attributes: Any) -> Dict[str, Any]:
        """Changes an unfinished job: max_cpus, cpus, priority, …"""
        if attributes.get("max_cpus") == "*":
            attributes["max_cpus"] = -1
        return self.client.request("PATCH", self._path, body=attributes)

    def order(self, action: str, items: str = "") -> Dict[str, Any]:
        """kill, retry, requeue, redo, block, unblock, interrupt or preempt; some items, or all."""
        return self.client.request("POST", "%s/orders/%s" % (self._path, action), body={"items": items} if items else None)

    def kill(self, items: str = "") -> Dict[str, Any]:
        """Ends the job, or items of it."""
        return self.order("kill", items)

    def retry(self, items: str = "") -> Dict[str, Any]:
        """Runs failed and killed items again."""
        return self.order("retry", items)

    def items(self, **filters: Any) -> Iterator[Dict[str, Any]]:
        """The items, in agenda order; status="failed" chooses."""
        return self.client._pages(self._path + "/items", filters)

    def attempts(self) -> Iterator[Dict[str, Any]]:
        """All tries at its items."""
        return self.client._pages(self._path + "/attempts", {})

    def explain(self) -> Dict[str, Any]:
        """Why it waits."""
        return self.client.request("GET", self._path + "/explain")

    def history(self) -> Iterator[Dict[str, Any]]:
        """What happened to it."""
        return self.client._pages(self._path + "/history", {})

    def output(self, item: Union[str, int], stream: str = "both", attempt: int = 0, offset: int = 0, follow: bool = False) -> Iterator[bytes]:
        """What an item wrote, in pieces. With follow it goes on until the attempt has ended, and resumes where it broke off."""
        path = "%s/items/%s/log" % (self._path, urllib.parse.quote(str(item), safe=""))
        while True:
            query = {"stream": stream, "attempt": attempt or None, "offset": offset or None, "follow": follow or None}
            answer = self.client._open("GET", path, query)
            try:
                while True:
                    piece = answer.read1(65536)
                    if not piece:
                        return
                    offset += len(piece)
                    yield piece
            except (OSError, http.client.HTTPException) as error:
                if not follow:
                    raise Error("unreachable", "the output broke off after %d bytes: %s" % (offset, error or type(error).__name__)) from error
            finally:
                answer.connection.close()  # type: ignore[attr-defined]

    def wait(self, timeout: Optional[float] = None, check: bool = True) -> Dict[str, Any]:
        """Waits until the job has ended; its last state. With check, one that did not complete is an error."""
        end, wait = (time.monotonic() + timeout if timeout is not None else None), 0.1
        while True:
            job = self.info()
            if job["status"] in ENDED:
                if check and job["status"] != "complete":
                    raise JobFailed(job)
                return job
            if end is not None and time.monotonic() + wait > end:
                raise Error("timeout", "job %d is still %s after %g s" % (self.id, job["status"], timeout))
            time.sleep(wait)
            wait = min(1.5 * wait, 2.0)

    def future(self) -> "concurrent.futures.Future[Dict[str, Any]]":
        """A future of the job's end: its result is that of wait."""
        future: "concurrent.futures.Future[Dict[str, Any]]" = concurrent.futures.Future()
        future.set_running_or_notify_cancel()

        def watch() -> None:
            try:
                future.set_result(self.wait())
            except BaseException as error:  # the future's owner gets it, whatever it is
                future.set_exception(error)

        threading.Thread(target=watch, name="qb job %d" % self.id, daemon=True).start()
        return future


def _query(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, (list, tuple, set)):
        return ",".join(str(one) for one in value)
    return str(value)


def _refusal(answer: http.client.HTTPResponse) -> Error:
    data = answer.read(1 << 20)
    answer.connection.close()  # type: ignore[attr-defined]
    try:
        problem = json.loads(data)
        errors = problem.get("errors") or []
        detail = problem.get("detail") or problem.get("title") or answer.reason
        kind = str(problem.get("type", "")).rpartition(":")[2]
        return Error(problem.get("code") or kind or "http-%d" % answer.status, detail, answer.status, errors)
    except (ValueError, AttributeError):
        return Error("http-%d" % answer.status, data.decode("utf-8", "replace")[:500] or answer.reason, answer.status)


def _again(error: Error) -> bool:
    """Whether the same request may succeed a moment later: the farm has no leader, or too much to do."""
    return error.status in (429, 502, 503, 504)


def _next_page(link: str) -> str:
    found = re.search(r'<([^>]*)>\s*;\s*rel="?next"?', link)
    return found.group(1) if found else ""


def _server_sent(answer: http.client.HTTPResponse) -> Iterator[Tuple[str, str, str]]:
    """Server-sent events: (name, id, data)."""
    name, id, data = "", "", []
    while True:
        line = answer.readline(_MAX_LINE)
        if not line:
            return
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if data or name:
                yield name, id, "\n".join(data)
            name, data = "", []
            continue
        field, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            name = value
        elif field == "id":
            id = value
        elif field == "data":
            data.append(value)


# ---- map: the side of the items ----

def _locate(function: Callable[[Any], Any]) -> Dict[str, Any]:
    name = getattr(function, "__qualname__", "")
    if not name or "<" in name:
        raise Error("usage", "map needs a function that can be found by its name in a file; %r cannot" % (function,))
    try:
        file = os.path.abspath(inspect.getsourcefile(function) or "")
    except TypeError:
        file = ""
    if function.__module__ == "__main__" and not os.path.isfile(file):
        raise Error("usage", "map needs a function that can be found by its name in a file; %s is of an interactive session" % name)
    return {"module": function.__module__, "name": name, "file": file, "path": [os.path.abspath(one) for one in sys.path]}


def _call(work: str, number: str) -> int:
    """Runs one item of map; its result or exception is in a file that has its final name when it is whole."""
    with open(os.path.join(work, "call.json"), encoding="utf-8") as file:
        where = json.load(file)
    sys.path[:] = where["path"] + [one for one in sys.path if one not in where["path"]]
    if where["module"] == "__main__":
        import runpy
        space: Any = runpy.run_path(where["file"], run_name="__qb_map__")
        main = type(sys)("__main__")
        main.__dict__.update(space)
        sys.modules["__main__"] = main
        target: Any = main
    else:
        import importlib
        target = importlib.import_module(where["module"])
    for part in where["name"].split("."):
        target = getattr(target, part)
    with open(os.path.join(work, number + ".item"), "rb") as file:
        value = pickle.load(file)
    try:
        outcome: Tuple[bool, Any] = (True, target(value))
        data = pickle.dumps(outcome)
    except Exception as error:
        import traceback
        traceback.print_exc()
        try:
            data = pickle.dumps((False, error))
        except Exception:
            data = pickle.dumps((False, RuntimeError(repr(error))))
        outcome = (False, error)
    part = os.path.join(work, "%s.part.%d" % (number, os.getpid()))
    with open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, os.path.join(work, number + ".result"))
    return 0 if outcome[0] else 1


def _results(work: str, count: int, job: Mapping[str, Any]) -> List[Any]:
    results = []
    for number in range(count):
        try:
            with open(os.path.join(work, "%d.result" % number), "rb") as file:
                ok, value = pickle.load(file)
        except FileNotFoundError:
            raise JobFailed(job) from None
        if not ok:
            raise value
        results.append(value)
    return results


# ---- Qube!'s names ----

class Work(Dict[str, Any]):
    """An item, with Qube's keys: name, id (its number), status, host, count (attempts), retry, timestart, timecomplete."""


class Subjob(Dict[str, Any]):
    """A running instance, with Qube's keys: pid (the job), id, host, status, work (the item's name)."""


class Job(Dict[str, Any]):
    """A job, with Qube's keys: name, prototype, package, agenda, cpus, max_cpus, priority, cluster, …"""


class Agenda(List[Work]):
    """Items that genframes, genchunks or genpartitions made, with the range that they came from."""

    def __init__(self, works: Iterable[Work], **source: Any):
        super().__init__(works)
        self.source = source


_default: Optional[Client] = None
_timeout = 60.0
_supervisor: Optional[str] = None
_last_error = ""


def _farm() -> Client:
    global _default
    if _default is None:
        _default = Client(_supervisor, timeout=_timeout)
    return _default


def setsupervisor(address: str) -> bool:
    """Names the farm for the functions below: a URL or unix:PATH."""
    global _supervisor, _default
    _supervisor, _default = address, None
    return True


def getsupervisor() -> str:
    """The farm's address."""
    return ",".join(_farm().addresses)


def settimeout(milliseconds: int) -> bool:
    """Limits the time for an answer."""
    global _timeout, _default
    _timeout, _default = milliseconds / 1000, None
    return True


def version() -> str:
    """Version of this module."""
    return __version__


def error() -> str:
    """Why the last submit of a list failed for one of its jobs; functions raise qb.Error otherwise."""
    return _last_error


def currenttime() -> int:
    """Seconds since 1970."""
    return int(time.time())


def ping(supervisor: str = "", asDict: bool = False) -> Any:
    """The farm's answer as a line, or as a dictionary."""
    answer = (Client(supervisor) if supervisor else _farm()).request("GET", "/v1/ping")
    if asDict:
        return answer
    return " ".join("%s=%s" % (key, answer[key]) for key in sorted(answer) if not isinstance(answer[key], (dict, list)))


# Attributes of Qube's job dictionaries: name here -> name in REST.
_SAME = ("name", "priority", "cpus", "max_cpus", "cluster", "requirements", "reservations", "restrictions", "hostorder", "account", "user",
         "cwd", "env", "umask", "retrywork", "timelimit", "status", "dependency")
_RENAMED = {"agenda_timelimit": "agendatimelimit"}
_LISTS = ("hosts", "omithosts", "groups", "omitgroups", "flags")
_TAGS = ("prod_show", "prod_seq", "prod_shot", "prod_dept", "prod_client") + tuple("prod_custom%d" % n for n in range(1, 6))
_READ_ONLY = ("id", "agenda", "package", "prototype", "subjobs", "callbacks", "waitfor", "todo", "todotally", "agendastatus", "subjobstatus", "timesubmit",
              "timestart", "timecomplete", "lastupdate", "reason", "cpustally", "pgrp", "path", "queue", "serverid", "globalorder", "localorder")
_WITHOUT_EFFECT = ("pid", "label", "kind", "domain", "mounts", "drivemap", "pathmap", "notes", "mailaddress", "timeout", "agenda_timeout", "retrysubjob",
                   "retrywork_delay", "preflights", "postflights", "agenda_preflights", "agenda_postflights", "p_agenda", "p_agenda_priority",
                   "p_agenda_cpus", "data", "hostname")


def _split(value: Any) -> List[str]:
    if isinstance(value, str):
        return [one.strip() for one in re.split(r"[,\s]+", value) if one.strip()]
    return [str(one) for one in value]


def _attributes(job: Mapping[str, Any], known: Iterable[str]) -> Dict[str, Any]:
    """The members of a request for the attributes of a job of Qube's."""
    body: Dict[str, Any] = {}
    for key, value in job.items():
        if key in _TAGS:
            body.setdefault("tags", {})[key] = str(value)
        elif key in _LISTS:
            body[key] = _split(value)
        elif key in _SAME or key in _RENAMED:
            if key in ("priority", "cpus", "retrywork", "timelimit", "agenda_timelimit", "umask") and isinstance(value, str):
                value = int(value, 8 if key == "umask" else 10)
            if key == "max_cpus":
                value = -1 if value == "*" else int(value)
            body[_RENAMED.get(key, key)] = value
        elif key in _WITHOUT_EFFECT:
            if value not in ("", None, [], {}, 0):
                warnings.warn("qb has no %s; it has no effect" % key, stacklevel=4)
        elif key not in known:
            raise Error("usage", "a job has no %r; jobs have %s" % (key, ", ".join(sorted(_SAME + _LISTS + _TAGS + ("agenda", "package", "prototype")))))
    return body


def _request(job: Mapping[str, Any]) -> Tuple[Any, Dict[str, Any]]:
    """The command and the attributes of a submission."""
    package = job.get("package") or {}
    prototype = job.get("prototype", "cmdrange" if job.get("agenda") or package.get("range") else "cmdline")
    if prototype.lower() not in ("cmdline", "cmdrange", "pycmdline", "pycmdrange"):
        raise Error("usage", "prototype %r: qb runs command lines; use cmdline or cmdrange" % prototype)
    command = package.get("cmdline")
    if not command:
        raise Error("usage", "job %r has no package['cmdline']" % job.get("name", ""))
    body = _attributes(job, _READ_ONLY)
    if job.get("waitfor"):
        links = [body["dependency"]] if body.get("dependency") else []
        body["dependency"] = ",".join(links + ["link-done-job-%s" % one for one in _split(job["waitfor"])])
    agenda = job.get("agenda") or []
    if isinstance(agenda, Agenda):
        body.update(agenda.source)
    elif agenda:
        body["range"] = ",".join(str(one["name"] if isinstance(one, Mapping) else one) for one in agenda)
    elif package.get("range"):
        body["range"] = str(package["range"])
        for key in ("chunk", "partitions", "padding"):
            if package.get(key):
                body[key] = int(package[key])
    if package.get("padding"):
        body["padding"] = int(package["padding"])
    return command, body


def submit(*jobs: Any, deferTableCreation: bool = True) -> List[Job]:
    """Submits jobs, single ones and lists of them, and returns them with their ids. One that is refused raises qb.Error; those
    before it stay submitted, and are in the error's ``submitted``."""
    global _last_error
    done: List[Job] = []
    for one in jobs:
        for job in [one] if isinstance(one, Mapping) else one:
            try:
                command, body = _request(job)
                handle = _farm().submit(command, **body)
            except Error as failed:
                _last_error = str(failed)
                failed.submitted = done  # type: ignore[attr-defined]
                raise
            copy = Job(job)
            copy["id"] = handle.id
            copy.setdefault("pgrp", done[0]["id"] if done else handle.id)
            done.append(copy)
    return done


def _seconds(moment: Optional[str]) -> int:
    if not moment:
        return 0
    text = re.sub(r"\.\d+", "", moment).replace("Z", "+00:00")
    return int(datetime.datetime.fromisoformat(text).timestamp())


def _job(row: Mapping[str, Any]) -> Job:
    counts, running = row["items"], row["instances"]
    job = Job({key: row[key] for key in ("id", "name", "user", "status", "priority", "cluster", "cpus", "reason", "requirements", "reservations",
                                         "restrictions", "hostorder", "account", "dependency", "cwd", "retrywork", "pgrp")})
    job["max_cpus"] = -1 if row["max_cpus"] is None else row["max_cpus"]
    job["prototype"] = row["type"]
    job["todo"], job["todotally"] = counts["total"], {key: value for key, value in counts.items() if key != "total"}
    job["cpustally"] = {"running": running["primary"] + running["secondary"] + running["draining"]}
    for key in ("hosts", "omithosts", "groups", "omitgroups", "flags"):
        job[key] = ",".join(row[key])
    for key in _TAGS:
        job[key] = row["tags"].get(key, "")
    job["timesubmit"], job["timestart"], job["timecomplete"] = (_seconds(row[key]) for key in ("submitted_at", "started_at", "finished_at"))
    job["timelimit"], job["agenda_timelimit"] = row.get("timelimit", 0), row.get("agendatimelimit", 0)
    job["package"] = {"cmdline": " ".join(row["command"]), "range": row["range"]}
    return job


def _work(row: Mapping[str, Any]) -> Work:
    return Work(name=row["name"], id=row["number"], status=row["status"], host=row["host"] or "", count=row["attempt"], exit_code=row["exit_code"],
                reason=row["reason"], timestart=_seconds(row["started_at"]), timecomplete=_seconds(row["finished_at"]))


def _ids(ids: Iterable[Any]) -> List[int]:
    """Ids of numbers, texts, jobs and lists of these."""
    found: List[int] = []
    for one in ids:
        if isinstance(one, Mapping):
            found.append(int(one["id"]))
        elif isinstance(one, (int, str)):
            found.append(int(one))
        else:
            found.extend(_ids(one))
    return found


_FILTERS = {"user": "user", "status": "status", "name": "name", "cluster": "cluster", "id": "ids"}


def jobinfo(*args: Any, id: Any = None, name: Any = None, user: Any = None, status: Any = None, agenda: bool = False, subjobs: bool = False,
            callbacks: bool = False, fields: Optional[Sequence[str]] = None, filters: Optional[Mapping[str, Any]] = None, updatedAfter: Optional[int] = None,
            submittedAfter: Optional[int] = None, submittedBefore: Optional[int] = None, minid: Optional[int] = None, maxid: Optional[int] = None,
            limit: Optional[int] = None, orderby: str = "id") -> List[Job]:
    """Jobs as dictionaries with Qube's keys, ordered by a key. filters takes the members id, name, user, status and cluster; agenda
    adds the items, subjobs the running instances."""
    wanted: Dict[str, Any] = dict(filters or {})
    for key, value in (("id", id), ("name", name), ("user", user), ("status", status)):
        if value is not None:
            wanted[key] = value
    words = list(args)
    while words and isinstance(words[0], str) and words[0].startswith("-"):
        wanted[words[0][1:]] = words[1] if len(words) > 1 else None
        words = words[2:]
    if words:
        wanted["id"] = words
    query: Dict[str, Any] = {}
    for key, value in wanted.items():
        if key not in _FILTERS:
            raise Error("usage", "no filter %r; there are %s" % (key, ", ".join(sorted(_FILTERS))))
        query[_FILTERS[key]] = _ids([value]) if key == "id" else value
    if query.get("ids") == []:
        return []
    if updatedAfter is not None:
        query["changed_since"] = datetime.datetime.fromtimestamp(updatedAfter, datetime.timezone.utc)
    found = []
    for row in _farm().jobs(**query):
        submitted = _seconds(row["submitted_at"])
        if (minid is not None and row["id"] < minid or maxid is not None and row["id"] > maxid or
                submittedAfter is not None and submitted < submittedAfter or submittedBefore is not None and submitted > submittedBefore):
            continue
        job = _job(row)
        if agenda:
            job["agenda"] = [_work(one) for one in _farm().job(row["id"]).items()]
        if subjobs:
            job["subjobs"] = _subjobs(row["id"])
        found.append(job)
        if limit is not None and len(found) >= limit and orderby == "id":
            break
    found.sort(key=lambda one: one.get(orderby, 0))
    if fields:
        found = [Job({key: job[key] for key in job if key in fields or key == "id"}) for job in found]
    return found if limit is None else found[:limit]


def _subjobs(job: int) -> List[Subjob]:
    found = []
    for host in _farm().hosts():
        for one in host["instances"]:
            if one["job"] == job:
                found.append(Subjob(pid=job, id=one["instance"], host=host["name"], status="running", work=one["item"], kind=one["kind"]))
    return sorted(found, key=lambda one: one["id"])


def hostinfo(name: Optional[str] = None, state: Optional[str] = None, subjobs: bool = False, fields: Optional[Sequence[str]] = None,
             filters: Optional[Mapping[str, Any]] = None) -> List[Dict[str, Any]]:
    """Hosts as dictionaries with Qube's keys: name, state (active or down), cluster, groups, resources, properties, locked."""
    wanted = dict(filters or {})
    if name is not None:
        wanted["name"] = name
    if state is not None:
        wanted["state"] = state
    found = []
    for row in _farm().hosts():
        host: Dict[str, Any] = {"name": row["name"], "state": "active" if row["state"] in ("up", "locked") else "down", "cluster": row["cluster"],
                                "groups": ",".join(row["groups"]), "locked": row["locked"], "properties": row["properties"],
                                "resources": {"host.processors": "%d/%d" % (row["slots"]["used"], row["slots"]["total"]),
                                              "host.memory": "%d/%d" % ((row["memory"]["total"] - row["memory"]["available"]) >> 20, row["memory"]["total"] >> 20)}}
        for resource, total in row["resources"].items():
            used = sum(one.get("holds", {}).get("host." + resource, 0) for one in row["instances"])
            host["resources"]["host." + resource] = "%d/%d" % (used, total)
        if subjobs:
            host["subjobs"] = [Subjob(pid=one["job"], id=one["instance"], host=row["name"], status="running", work=one["item"]) for one in row["instances"]]
        if all(host.get(key) == value for key, value in wanted.items()):
            found.append({key: host[key] for key in host if not fields or key in fields or key == "name"})
    return found


def modify(changes: Mapping[str, Any], *ids: Any) -> List[int]:
    """Changes attributes of unfinished jobs; the ids of those that were changed."""
    body = _attributes(changes, ())
    done = _ids(ids)
    for id in done:
        _farm().job(id).modify(**body)
    return done


def _ordered(action: str, ids: Iterable[Any]) -> List[int]:
    """Orders an action for jobs; the ids of those that it affects."""
    return [id for id in _ids(ids) if _farm().job(id).order(action)["affected"]]


def _ordered_work(action: str, works: Iterable[Any]) -> List[str]:
    """Orders an action for items, each JOB:NAME or a Work with pid; those that it affects."""
    done = []
    for one in works:
        if isinstance(one, Mapping):
            job, name = int(one["pid"]), str(one["name"])
        elif isinstance(one, str):
            number, colon, name = one.partition(":")
            if not colon or not name:
                raise Error("usage", "%r is no item: write JOB:NAME" % one)
            job = int(number)
        else:
            done.extend(_ordered_work(action, one))
            continue
        if _farm().job(job).order(action, name)["affected"]:
            done.append("%d:%s" % (job, name))
    return done


def kill(*ids: Any) -> List[int]:
    """Ends jobs; their unfinished items are killed."""
    return _ordered("kill", ids)


def block(*ids: Any) -> List[int]:
    """Keeps jobs from running."""
    return _ordered("block", ids)


def unblock(*ids: Any) -> List[int]:
    """Lets blocked jobs run."""
    return _ordered("unblock", ids)


def interrupt(*ids: Any) -> List[int]:
    """Stops instances at once; their items run again."""
    return _ordered("interrupt", ids)


def preempt(*ids: Any) -> List[int]:
    """Ends instances after their item."""
    return _ordered("preempt", ids)


def retry(*ids: Any) -> List[int]:
    """Runs failed and killed items again."""
    return _ordered("retry", ids)


def requeue(*ids: Any) -> List[int]:
    """Runs the items again that are not complete."""
    return _ordered("requeue", ids)


def redo(*ids: Any) -> List[int]:
    """Runs all items again, complete ones too; this is what Qube's retry of a complete job does."""
    return _ordered("redo", ids)


def killwork(*works: Any) -> List[str]:
    """Kills items, each JOB:NAME."""
    return _ordered_work("kill", works)


def retrywork(*works: Any) -> List[str]:
    """Runs failed and killed items again."""
    return _ordered_work("retry", works)


def requeuework(*works: Any) -> List[str]:
    """Runs items again that are not complete."""
    return _ordered_work("requeue", works)


def redowork(*works: Any) -> List[str]:
    """Runs items again, complete ones too."""
    return _ordered_work("redo", works)


def interruptwork(*works: Any) -> List[str]:
    """Stops items at once; they run again."""
    return _ordered_work("interrupt", works)


workkill, workretry, workrequeue = killwork, retrywork, requeuework


def workerlock(name: str, lock: bool = True) -> bool:
    """Keeps new items from a host, or lets them come again."""
    answer = _farm().request("POST", "/v1/hosts/%s/%s" % (urllib.parse.quote(name, safe=""), "lock" if lock else "unlock"))
    return bool(answer["affected"])


def hist(id: Any) -> List[Dict[str, Any]]:
    """What happened to a job, the oldest first."""
    return list(_farm().job(_ids([id])[0]).history())


def _output(stream: str, id: Any, pos: int, length: Optional[int]) -> str:
    job, _, item = str(id).partition(":")
    handle = _farm().job(int(job))
    names = [item] if item else [one["name"] for one in handle.items() if one["attempt"]]
    parts = []
    for name in names:
        parts.append(b"".join(handle.output(name, stream, offset=pos if item else 0)))
    text = b"".join(parts)
    if not item:
        text = text[pos:]
    return text[:length].decode("utf-8", "replace")


def stdout(id: Any, pos: int = 0, len: Optional[int] = None) -> str:
    """What a job ("12"), or an item of it ("12:5"), wrote to standard output."""
    return _output("stdout", id, pos, len)


def stderr(id: Any, pos: int = 0, len: Optional[int] = None) -> str:
    """What a job ("12"), or an item of it ("12:5"), wrote to standard error."""
    return _output("stderr", id, pos, len)


def waitfor(*ids: Any, timeout: Optional[float] = None) -> bool:
    """Waits until jobs have ended, however; False if the time is up before."""
    end = time.monotonic() + timeout if timeout is not None else None
    for id in _ids(ids):
        try:
            _farm().job(id).wait(max(0.0, end - time.monotonic()) if end is not None else None, check=False)
        except Error as failed:
            if failed.code == "timeout":
                return False
            raise
    return True


# ---- ranges ----

_PART = re.compile(r"^(-?\d+)(?:-(-?\d+)(?:x(\d+))?)?$")
_MOST_ITEMS = 1_000_000


def rangesplit(text: str) -> List[int]:
    """The numbers of a range such as "1-10x3,20", each once, in the order written."""
    numbers: Dict[int, None] = {}
    for part in str(text).split(","):
        found = _PART.match(part.strip())
        if not found:
            raise Error("usage", "range %r: %r is no number and no FIRST-LAST or FIRST-LASTxSTEP" % (text, part.strip()))
        first = int(found.group(1))
        last, step = int(found.group(2) or first), int(found.group(3) or 1)
        if step < 1 or abs(last - first) // step > _MOST_ITEMS:
            raise Error("usage", "range %r: %r has no step above 0, or more than %d numbers" % (text, part.strip(), _MOST_ITEMS))
        numbers.update(dict.fromkeys(range(first, last + 1, step) if first <= last else range(first, last - 1, -step)))
    return list(numbers)


def _written(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    if all(b - a == 1 for a, b in zip(numbers, numbers[1:])):
        return "%d-%d" % (numbers[0], numbers[-1])
    return ",".join(map(str, numbers))


def rangechunk(text: str, size: int) -> List[str]:
    """The range in parts of that many numbers."""
    numbers = rangesplit(text)
    if size < 1:
        raise Error("usage", "chunks of %d numbers: use at least 1" % size)
    return [_written(numbers[at:at + size]) for at in range(0, len(numbers), size)]


def rangepartition(text: str, count: int) -> List[str]:
    """The range in that many parts of nearly equal length."""
    numbers = rangesplit(text)
    if count < 1:
        raise Error("usage", "%d partitions: use at least 1" % count)
    count = min(count, len(numbers))
    least, more = divmod(len(numbers), count)
    parts, at = [], 0
    for number in range(count):
        size = least + (number < more)
        parts.append(_written(numbers[at:at + size]))
        at += size
    return parts


def genframes(text: str, binary: bool = False) -> Agenda:
    """An agenda of one item for each number."""
    source: Dict[str, Any] = {"range": str(text)}
    if binary:
        source["order"] = "binary"
    return Agenda([Work(name=str(number)) for number in rangesplit(text)], **source)


def genchunks(size: int, text: str) -> Agenda:
    """An agenda of items with that many consecutive numbers each."""
    return Agenda([Work(name=part) for part in rangechunk(text, size)], range=str(text), chunk=size)


def genpartitions(count: int, text: str) -> Agenda:
    """An agenda of that many items of nearly equal length."""
    return Agenda([Work(name=part) for part in rangepartition(text, count)], range=str(text), partitions=count)


def _main(words: Sequence[str]) -> int:
    if len(words) == 3 and words[0] == "--call":
        return _call(words[1], words[2])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
