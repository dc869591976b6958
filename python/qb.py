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
import collections.abc
import concurrent.futures
import contextlib
import datetime
import functools
import hashlib
import http.client
import inspect
import ipaddress
import json
import os
import pickle
import random
import re
import shlex
import shutil
import socket
import ssl
import stat
import struct
import sys
import tempfile
import threading
import time
import typing
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
_MAX_CALLS = 100_000     # items of one map
_MAX_VALUE = 16 << 20    # bytes of an argument or a result of map
_MAX_VALUES = 1 << 30    # bytes of all arguments, or all results, of one map
_MAX_TRACE = 64 << 10    # bytes of a traceback that an item sends back

# What the farm sets for one item alone, and a script that runs as an item has in its environment. Made by go test ./api.
_ITEM_VARIABLES = frozenset((
    "QBJOBID",
    "QBSUBID",
    "QBPGRPID",
    "QBDIR",
    "QB_DOMAIN",
    "QB_SUPERVISOR",
    "QB_HOST",
    "QB_ITEM",
    "QB_ATTEMPT",
    "QB_KILL_GRACE",
    "QB_JOBSLOTS",
    "QB_ALLOCATIONS",
    "QB_FRAME_PADDING",
    "QB_FRAME_NUMBER",
    "QB_FRAME_START",
    "QB_FRAME_END",
    "QB_FRAME_STEP",
    "QB_FRAME_RANGE",
    "QB_PADDED_FRAME_NUMBER",
    "QB_PADDED_FRAME_START",
    "QB_PADDED_FRAME_END",
    "QB_PADDED_FRAME_STEP",
    "QB_FRAME_STATUS",
    "QB_INSTANCE_STATUS",
    "QB_SYSTEM_EXIT_CODE",
    "QB_GPUS",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "TMPDIR",
    "QB_WORK",
    "QB_INSTANCE_MARK",
))
_MARK = "QB_INSTANCE_MARK"
_SECRETS = frozenset(("QB_TOKEN", "QB_DATABASE_URL", "QB_SUBMIT_KEY"))


class Error(Exception):
    """A request that failed.

    code    what is wrong, for programs: the server's code, or "unreachable", "untrusted", "usage", "timeout", "unsupported"
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


class ItemError(Error):
    """A call of ``map`` that has no result.

    index      of the item, from 0
    item       the item itself
    type       the name of the exception's class; "" if the call never came back, and then detail says why
    traceback  where it was raised, on the host
    """

    def __init__(self, index: int, item: Any, type: str, detail: str, traceback: str = ""):
        super().__init__("item-failed", "item %d (%.80r): %s%s" % (index, item, type + ": " if type else "", detail))
        self.index, self.item, self.type, self.traceback = index, item, type, traceback


class MapError(Error):
    """Calls of ``map`` have no result: ``failures`` has an ItemError for each, ``results`` all results, None for these."""

    def __init__(self, job: int, failures: Sequence[ItemError], results: Sequence[Any]):
        first = failures[0]
        where = "\n\non the farm:\n" + first.traceback if first.traceback else ""
        super().__init__("map-failed", "%d of %d items of job %d have no result; %s%s" % (len(failures), len(results), job, first.detail, where))
        self.job, self.failures, self.results = job, list(failures), list(results)


# ---- where the farm is ----

# Farms run on Linux. There the kernel says which account answers on a socket of this machine; elsewhere TLS proves who it is.
_KERNEL_NAMES_PEERS = hasattr(socket, "SO_PEERCRED")


def _config_folder() -> str:
    """The folder for this user's configuration, the same as the commands': os.UserConfigDir of Go."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or os.path.expanduser("~\\AppData\\Roaming")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(base, "qb")


def _own_uid() -> int:
    """The user id of this process; -1 where the system has none."""
    return os.geteuid() if hasattr(os, "geteuid") else -1


def _state_folder() -> str:
    if os.environ.get("QB_STATE"):
        return os.path.abspath(os.environ["QB_STATE"])
    if _own_uid() == 0:
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
    farm = _farm_file()
    if farm.get("socket"):
        return ["unix:" + farm["socket"]]
    if farm.get("url"):
        return [farm["url"]]
    raise Error("unreachable", "no farm found; start one with qb farm, or set QB_SUPERVISOR to the address of a farm")


def _farm_file() -> Dict[str, str]:
    """What the farm of this machine says of itself; {} if there is none."""
    if not _KERNEL_NAMES_PEERS:
        return {}
    folders = [_state_folder()]
    if not os.environ.get("QB_STATE") or folders[0] == _STATE_FOLDER:
        folders.append(_RUN_FOLDER)
    for folder in folders:
        name = os.path.join(folder, "farm.json")
        try:
            with open(name, "rb") as file:
                of = os.fstat(file.fileno())
                if of.st_mode & 0o022 or not _admits(of.st_uid):
                    raise Error("usage", "%s is of uid %d and has mode %03o: others than root, you and the service can write where the farm is; set QB_SUPERVISOR" % (name, of.st_uid, of.st_mode & 0o777))
                farm = json.loads(file.read(_MAX_LOGIN))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except ValueError as error:
            raise Error("usage", "%s is damaged (%s); start qb farm again, or set QB_SUPERVISOR" % (name, error)) from error
        if isinstance(farm, dict) and (farm.get("socket") or farm.get("url")):
            return {key: value for key, value in farm.items() if isinstance(value, str)}
    return {}


def _addresses(named: str) -> List[str]:
    return [one.strip() for one in named.split(",") if one.strip()]


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or _number(host).is_loopback
    except ValueError:
        return False


def _same(one: str, other: str) -> bool:
    """Whether two addresses are one: equal, or two names of loopback with the same port."""
    if one == other:
        return True
    try:
        a, b = urllib.parse.urlsplit(one), urllib.parse.urlsplit(other)
        if a.scheme != b.scheme or a.port != b.port or not a.hostname or not b.hostname or "@" in a.netloc + b.netloc:
            return False
    except ValueError:
        return False
    return a.hostname == b.hostname or _loopback(a.hostname) and _loopback(b.hostname)


def _by_socket(addresses: Sequence[str], farm: Mapping[str, str]) -> List[str]:
    """The addresses, with the socket of this machine's farm in place of its port: nobody else can take a path in its folder."""
    socket_of, url = farm.get("socket"), farm.get("url", "")
    return ["unix:" + socket_of if socket_of and _same(one, url) else one for one in addresses]


def _meant_for(addresses: Sequence[str], own: str) -> bool:
    """Whether a token that is for some addresses may go to each of these."""
    return all(any(_same(one, other) for other in _addresses(own)) for one in addresses)


def _login() -> Dict[str, str]:
    """What the last `qb login` of this user left; {} if there was none. A file that others can read or write is refused."""
    name = os.path.join(_config_folder(), "login.json")
    try:
        with open(name, "rb") as file:
            of = os.fstat(file.fileno())
            if _own_uid() >= 0 and of.st_uid != _own_uid():
                return {}
            if _own_uid() >= 0 and of.st_mode & 0o077:
                raise Error("usage", "%s has mode %03o: others on this machine can read the token in the file; revoke the token with qb login -revoke, and log in again" % (name, of.st_mode & 0o777))
            login = json.loads(file.read(_MAX_LOGIN))
        if isinstance(login, dict) and all(isinstance(login.get(key), str) and login[key] for key in ("url", "token")):
            return login
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {}
    except ValueError:
        pass
    raise Error("usage", "%s is damaged; remove it and log in again with qb login" % name)


def _token(addresses: Sequence[str]) -> str:
    """The token for these addresses. Each goes to the farm that it is for alone: that of a login to the farm of the login, that of the
    environment to QB_SUPERVISOR, where that is set."""
    token, name, named = os.environ.get("QB_TOKEN", "").strip(), os.environ.get("QB_TOKEN_FILE"), os.environ.get("QB_SUPERVISOR", "")
    if (token or name) and named and not _meant_for(addresses, named):
        return ""
    if token:
        return token
    if not name:
        login = _login()
        return login["token"] if login and _meant_for(addresses, login["url"]) else ""
    try:
        with open(name, encoding="utf-8") as file:
            return file.readline(4096).strip()
    except OSError as error:
        raise Error("usage", "QB_TOKEN_FILE: %s" % error) from error


# ---- who answers on this machine ----
# Any local user can bind a free port. Nothing is sent before the kernel has named the account at the other end. api/peer_linux.go does
# the same for commands and workers; api/testdata/loopback.json has the cases that both are tested with.

_OVERFLOW_UID = 65534  # stands for users that the kernel cannot name here
_ACCEPT_WITHIN = 2.0   # seconds; a connection that no process has accepted yet has no owner


def _appointed(folder: str) -> Optional[int]:
    """The account to which root gave a folder: only root can have made one there."""
    try:
        above, at = os.lstat(os.path.dirname(folder)), os.lstat(folder)
    except OSError:
        return None
    by_root = stat.S_ISDIR(above.st_mode) and stat.S_ISDIR(at.st_mode) and above.st_uid == 0 and not above.st_mode & 0o022
    return at.st_uid if by_root else None


def _admits(uid: int) -> bool:
    """Whether an account may be the supervisor's: root, ours, or that of the service."""
    return uid != _OVERFLOW_UID and uid in {0, _own_uid(), _appointed(_RUN_FOLDER), _appointed(_STATE_FOLDER)}


def _number(address: str) -> Union[ipaddress.IPv4Address, ipaddress.IPv6Address]:
    """An address as a number; an IPv4 address in the form of IPv6 is the IPv4 address."""
    number = ipaddress.ip_address(address.partition("%")[0])
    return getattr(number, "ipv4_mapped", None) or number


def _here(local: str, remote: str) -> bool:
    """Whether the other end of a connection is on this machine."""
    return _number(remote).is_loopback or _number(remote) == _number(local)


def _as_listed(address: str, port: int, wide: bool) -> str:
    """An end of a connection as the kernel's lists write it: words of four bytes in the machine's order."""
    number = _number(address)
    raw = number.packed
    if wide and number.version == 4:
        raw = bytes(10) + b"\xff\xff" + raw
    return "".join("%08X" % word for word in struct.unpack("=%dI" % (len(raw) // 4), raw)) + ":%04X" % port


def _owner(local: Tuple[str, int], remote: Tuple[str, int]) -> Optional[Tuple[int, int]]:
    """The uid and the inode of a socket of this machine; None: the kernel lists no such socket."""
    lists = [("/proc/net/tcp6", True)]
    if _number(local[0]).version == 4:
        lists.insert(0, ("/proc/net/tcp", False))
    for name, wide in lists:
        ends = [_as_listed(local[0], local[1], wide), _as_listed(remote[0], remote[1], wide)]
        with contextlib.suppress(FileNotFoundError), open(name, encoding="ascii") as lines:  # a machine may have no IPv6
            for line in lines:
                fields = line.split()
                if len(fields) >= 10 and fields[1:3] == ends:
                    return int(fields[7]), int(fields[9])
    return None


def _tcp_peer(connection: socket.socket) -> int:
    """The uid of the process that has accepted the connection at the other end."""
    local, remote = connection.getsockname()[:2], connection.getpeername()[:2]
    end, wait = time.monotonic() + _ACCEPT_WITHIN, 0.001
    while True:
        owner = _owner(remote, local)
        if owner and owner[1]:
            return owner[0]
        if time.monotonic() > end:
            raise OSError("the connection was not accepted in time" if owner else "the kernel lists no such socket here")
        time.sleep(wait)
        wait = min(2 * wait, 0.05)


def _check_peer(address: str, ask: Callable[[], int]) -> None:
    """Refuses a peer on this machine that may not be the supervisor."""
    try:
        uid = ask()
    except OSError as error:
        raise Error("unreachable", "nothing was sent to %s: the kernel does not say which account answers there (%s); use the supervisor's socket: unix:PATH"
                    % (address, error)) from error
    if not _admits(uid):
        raise Error("untrusted", "nothing was sent to %s: uid %d answers there, which is neither root, nor you, nor the account of the service; use the supervisor's socket: unix:%s/qb.sock"
                    % (address, uid, _RUN_FOLDER))


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket, to an account that may be the supervisor's."""

    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
        size = struct.calcsize("iII")
        try:
            _check_peer("unix:" + self.path, lambda: int(struct.unpack("iII", self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1]))
        except Error:
            self.close()
            raise


class _LocalConnection(http.client.HTTPConnection):
    """HTTP over TCP to this machine, to an account that may be the supervisor's."""

    def connect(self) -> None:
        super().connect()
        address = "http://%s:%d" % (self.host, self.port)
        try:
            if not _here(self.sock.getsockname()[0], self.sock.getpeername()[0]):
                raise Error("usage", "nothing was sent to %s: the address is of another machine, and a token would cross the network unencrypted; use https://" % address)
            _check_peer(address, lambda: _tcp_peer(self.sock))
        except Error:
            self.close()
            raise


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
    raise Error("untrusted", "nothing was sent to %s: the supervisor's certificate is of another authority than the one that the token names (%s); ask the farm's administrator for a new token"
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
        named = _addresses(address) if address else _find()
        self.token, _, self._authority = (_token(named) if token is None else token).partition(".")
        self.addresses = _by_socket(named, _farm_file())
        self.timeout, self.retry = timeout, retry
        self.ca_file = ca_file or os.environ.get("QB_CA_FILE") or None
        self._trust: Dict[str, ssl.SSLContext] = {}  # of addresses, by the fingerprint of the token

    def __repr__(self) -> str:
        return "qb.Client(%r)" % ",".join(self.addresses)

    # requests

    def _connect(self, address: str, timeout: float) -> http.client.HTTPConnection:
        if not _KERNEL_NAMES_PEERS and not address.startswith("https:"):
            raise Error("usage", "nothing was sent to %s: on Windows and macOS commands talk to a supervisor by TLS alone, with a token; use https://HOST:PORT, and log in (qb login https://HOST:PORT)" % address)
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
        if not _loopback(url.hostname):
            raise Error("usage", "%r: a token crosses the network only with https" % address)
        return _LocalConnection(url.hostname, url.port, timeout=timeout)

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
        if not re.fullmatch(r"/[!-~]*", path):
            raise Error("usage", "path: %s is no path of the farm: begin it with /, and quote what is not ASCII" % _shown(path))
        if not re.fullmatch(r"[A-Z]+", method):
            raise Error("usage", "method: %s is no method: write GET, POST, PUT, PATCH or DELETE" % _shown(method))
        given = {name: _text(_query(value), name) for name, value in query.items() if value is not None}
        if given:
            path += "?" + urllib.parse.urlencode(given)
        sent = dict(headers)
        data = None
        if body is not None:
            data, sent["Content-Type"] = _body(body), "application/json"
        if method != "GET":
            sent.setdefault("Idempotency-Key", uuid.uuid4().hex)
        pause = _Pause(self.retry)
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
                except Error as error:  # the kernel does not say who answers, as while a supervisor starts again
                    if error.code != "unreachable":
                        raise
                    failed = error
                    continue
                if answer.status < 300:
                    return answer
                failed = _refusal(answer)
                if not _again(failed):
                    raise failed
            pause.after(failed)

    def request(self, method: str, path: str, query: Mapping[str, Any] = {}, body: Any = None, headers: Mapping[str, str] = {}) -> Any:
        """Any endpoint of the REST interface (GET /docs lists them); the answer's JSON."""
        return self._request(method, path, query, body, headers)[0]

    def _request(self, method: str, path: str, query: Mapping[str, Any] = {}, body: Any = None,
                 headers: Mapping[str, str] = {}) -> Tuple[Any, http.client.HTTPResponse]:
        answer = self._open(method, path, query, body, headers)
        try:
            data = _read(answer, _MAX_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise Error("unreachable", "the answer broke off: %s" % (error or type(error).__name__)) from error
        finally:
            answer.connection.close()  # type: ignore[attr-defined]
        return (json.loads(data) if data else None), answer

    def _pages(self, path: str, query: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
        while path:
            rows, answer = self._request("GET", path, query)
            yield from rows
            path, query = _next_page(answer.headers.get("Link", "")), {}

    # jobs

    def submit(self, command: Union[str, Iterable[Any]], **attributes: Any) -> "JobHandle":
        """Submits a job. A text is a line for /bin/sh, a list is a program with its arguments; tokens such as QB_FRAME_NUMBER are
        replaced in both. Attributes are those of POST /v1/jobs: name, range, cpus, max_cpus (a number or "*"), priority,
        cluster, cwd (by default the current folder), umask and system (by default those of this process), env, reservations, dependency, time_estimate (seconds of an
        item), … Names of files may be texts, bytes or paths; what is not UTF-8 is refused."""
        _not_imported()
        body = dict(attributes)
        if isinstance(command, str):
            body["command"], body["shell"] = [command], True
        else:
            body["command"] = [word if isinstance(word, (bytes, os.PathLike)) else str(word) for word in command]
        body.setdefault("cwd", os.getcwd())
        _surround(body)
        reply = self.request("POST", "/v1/jobs", body=body)
        _warn(reply["job"], reply)
        return JobHandle(self, reply["job"], reply.get("before", []))

    def submit_type(self, type: str, file: Any = None, range: Optional[str] = None, values: Mapping[str, Any] = {},
                    **attributes: Any) -> List["JobHandle"]:
        """Submits by a job type, which asks for no command: `file` and `range` are what qbsub -type takes as FILE and -range, `values`
        are those of its other parameters by name. Relative paths are of the current folder. Attributes are those of a job that
        the type leaves open, such as priority, cpus, max_cpus and account. The jobs are those of its steps, each after those that
        it depends on."""
        _not_imported()
        known = self.request("GET", "/v1/types/" + _quoted(type))
        given = dict(values)
        for place, value in (("file", file), ("range", range)):
            if value is not None:
                if not known.get(place):
                    raise Error("usage", "%s: the job type %s takes none; its parameters are in values" % (place, type))
                given[known[place]] = value
        given = {name: str(value).lower() if isinstance(value, bool) else _plain(value) if isinstance(value, (bytes, os.PathLike)) else str(value)
                 for name, value in given.items()}
        for parameter in self.request("POST", "/v1/openjd/check", body={"type": type, "values": given})["parameters"]:
            name = parameter["name"]
            if parameter["type"] == "PATH" and given.get(name) and not re.match(r"([A-Za-z]:)?[/\\\\]", given[name]):
                given[name] = os.path.join(os.getcwd(), given[name])
        reply = self.request("POST", "/v1/openjd", body={"type": type, "values": given, "job": attributes})
        _warn(reply["jobs"][0]["job"], reply)
        return [JobHandle(self, made["job"]) for made in reply["jobs"]]

    def job(self, id: Union[int, str]) -> "JobHandle":
        """The job of that number; whether there is one is known when it is asked for."""
        return JobHandle(self, int(id))

    def jobs(self, **filters: Any) -> Iterator[Dict[str, Any]]:
        """All jobs that pass the filters, the newest first, page by page: user, status, name, cluster, tags, ids,
        changed_since, finished_since, expression; in another order with sort="-priority,name", with these members alone with
        fields="id,name"."""
        return self._pages("/v1/jobs", filters)

    def hosts(self, **filters: Any) -> List[Dict[str, Any]]:
        """All hosts that pass the filters: expression="state = up and memory.avail >= 16GiB"; with sort and fields as for jobs."""
        return list(self._pages("/v1/hosts", filters))

    def events(self, after: Optional[str] = None, **filters: Any) -> Iterator[Dict[str, Any]]:
        """What happens, as it happens, for ever; each event has its ``id``. ``after`` is the id of the last one that is known. A
        stream that breaks is opened again after a pause, behind its last event, for ``retry`` seconds; then the error is raised. An
        event of the type "reset" says that events were missed: read the lists afresh."""
        pause, again = _Pause(self.retry), False
        while True:
            headers = {"Accept": "text/event-stream"}
            if after:
                headers["Last-Event-ID"] = after
            answer, opened = self._open("GET", "/v1/events", filters, headers=headers, timeout=90), time.monotonic()
            broken: BaseException = EOFError("the stream ended")
            if again and not after:  # it cannot be asked for what happened meanwhile
                yield {"type": "reset", "id": "", "job": None}
            again = True
            try:
                for name, id, data in _server_sent(answer):
                    pause.over()
                    after = id or after
                    if data:
                        event = json.loads(data)
                        if isinstance(event, dict):
                            event.setdefault("id", id)
                            event.setdefault("type", name)
                            yield event
            except (OSError, http.client.HTTPException) as error:
                broken = error
            finally:
                answer.connection.close()  # type: ignore[attr-defined]
            if time.monotonic() - opened > 5:
                pause.over()
            pause.after(Error("unreachable", "the stream of events broke off: %s" % (broken or type(broken).__name__)))

    def map(self, function: Union[str, Callable[[Any], Any]], items: Iterable[Any], timeout: Optional[float] = None, folder: Optional[str] = None,
            transport: str = "json", errors: str = "raise", python: str = sys.executable, **attributes: Any) -> List[Any]:
        """Calls function(item) for each item on the farm, as one job, and returns the results in order. A process of each instance makes
        one call after another, until one fails.

        function   a function that is found by its name in a file, as with multiprocessing, or its name as "module:name". Not a lambda,
                   and not one of an interactive session: its code does not travel, hosts import it under the same paths.
        timeout    seconds; when they are over, the job is killed and qb.Error is raised with the code "timeout"
        folder     where arguments and results are exchanged, in a new folder that only you can enter and that is removed at the end;
                   by default the current one. All hosts must see it under the same path.
        transport  "json": items and results are what JSON can carry unchanged, at most 16 MiB each; others are refused. "pickle": any
                   object of an importable class. Reading a pickle runs code of whoever wrote it: choose it only where nobody else
                   writes to the folder.
        errors     "raise": qb.MapError with all failures, after all items have ended. "return": an ItemError stands where the result would.
        python     Python of the hosts
        attributes are those of submit: cpus, max_cpus, priority, chunk, retrywork, reservations, …
        """
        if errors not in ("raise", "return"):
            raise Error("usage", 'errors is %r; use "raise" or "return"' % errors)
        values = list(items)
        if not values:
            return []
        work = _pack(function, values, transport, os.path.abspath(folder or os.getcwd()))
        job = None
        try:
            given: Dict[str, Any] = {"name": "map " + _name(function), "type": "loadonce", "range": "0-%d" % (len(values) - 1)}
            given.update(attributes)
            job = self.submit([python, os.path.join(work, "qb.py"), "--call", work], **given)
            end = job.wait(timeout, check=False)
            found = _unpack(self, work, values, transport, end)
        except BaseException:  # a timeout and Ctrl-C among them: nothing of it goes on
            if job is not None:
                with contextlib.suppress(Error):
                    job.kill()
                    job.wait(self.timeout, check=False)
            raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
        failures = [one for one in found if isinstance(one, ItemError)]
        if failures and errors == "raise":
            raise MapError(job.id, failures, [None if isinstance(one, ItemError) else one for one in found])
        return found


class _Pause:
    """Waits between tries, longer each time, and gives up when none has succeeded for a number of seconds."""

    def __init__(self, limit: float):
        self.limit, self.wait = limit, 0.1
        self.since: Optional[float] = None  # the first of the failures

    def over(self) -> None:
        """Notes a success."""
        self.wait, self.since = 0.1, None

    def after(self, failed: Error) -> None:
        """Waits after a failure, or raises it."""
        now = time.monotonic()
        if self.since is None:
            self.since = now
        if now + self.wait > self.since + self.limit:
            raise failed
        time.sleep(self.wait * (0.5 + random.random() / 2))
        self.wait = min(2 * self.wait, 3.0)


class JobHandle:
    """A job of a farm. It is also a future in the manner of concurrent.futures: result, exception, done, running, cancel. These mean all jobs
    of a submission that became several (p_agenda, the flag host_list), whose last job this is; the other methods mean this job."""

    def __init__(self, client: Client, id: int, before: Optional[Sequence[int]] = None):
        self.client, self.id = client, id
        self._before = None if before is None else list(before)

    def __repr__(self) -> str:
        return "qb.JobHandle(%d)" % self.id

    @property
    def _path(self) -> str:
        return "/v1/jobs/%d" % self.id

    def info(self) -> Dict[str, Any]:
        """What the farm says of it now."""
        row: Dict[str, Any] = self.client.request("GET", self._path)
        return row

    @property
    def before(self) -> List[int]:
        """The ids of the other jobs of its submission, if it is the last of several."""
        if self._before is None:
            self._before = list(self.info().get("before", []))
        return self._before

    @property
    def jobs(self) -> "List[JobHandle]":
        """All jobs of its submission, this one last."""
        return [JobHandle(self.client, id, []) for id in self.before] + [self]

    def _infos(self) -> List[Dict[str, Any]]:
        """What the farm says now of all jobs of the submission, this one last. Others may have been removed."""
        rows = []
        for job in self.jobs:
            try:
                rows.append(job.info())
            except Error as failed:
                if failed.code != "not-found" or job is self:
                    raise
        return rows

    def modify(self, **attributes: Any) -> Dict[str, Any]:
        """Changes an unfinished job: max_cpus, cpus, priority, …"""
        row: Dict[str, Any] = self.client.request("PATCH", self._path, body=attributes)
        _warn(self.id, row)
        return row

    def order(self, action: str, items: str = "", instances: str = "", item_states: Sequence[str] = (), instance_states: Sequence[str] = (),
              host: str = "", exit_code: Optional[int] = None) -> Dict[str, Any]:
        """kill, retry, requeue, redo, block, unblock, interrupt, preempt, shove, suspend, resume, migrate, retire, complete, fail and what
        else GET /docs lists; some items, what some instances run, both perhaps only in some states, or all. With host or
        exit_code only items whose latest attempt ran there or ended so."""
        body: Dict[str, Any] = {"items": items, "instances": instances, "item_states": list(item_states), "instance_states": list(instance_states),
                                "host": host}
        body = {key: value for key, value in body.items() if value}
        if exit_code is not None:
            body["exit_code"] = exit_code
        try:
            reply: Dict[str, Any] = self.client.request("POST", "%s/orders/%s" % (self._path, action), body=body or None)
        except Error as failed:
            if failed.status == 422 and any(one.get("location") == "path.action" for one in failed.errors):
                raise Error("unsupported", "this farm has no order %s" % action, failed.status, failed.errors) from None
            raise
        return reply

    def remove(self) -> Dict[str, Any]:
        """Removes the job, which has ended, with its history and output."""
        reply: Dict[str, Any] = self.client.request("DELETE", self._path)
        return reply

    def kill(self, items: str = "") -> Dict[str, Any]:
        """Ends the job, or items of it."""
        return self.order("kill", items)

    def retry(self, items: str = "", host: str = "", exit_code: Optional[int] = None) -> Dict[str, Any]:
        """Runs failed and killed items again; with host or exit_code those that failed there or so."""
        return self.order("retry", items, host=host, exit_code=exit_code)

    def items(self, **filters: Any) -> Iterator[Dict[str, Any]]:
        """The items, in agenda order; status="failed" chooses."""
        return self.client._pages(self._path + "/items", filters)

    def attempts(self) -> Iterator[Dict[str, Any]]:
        """All tries at its items."""
        return self.client._pages(self._path + "/attempts", {})

    def explain(self) -> Dict[str, Any]:
        """Why it waits."""
        row: Dict[str, Any] = self.client.request("GET", self._path + "/explain")
        return row

    def history(self) -> Iterator[Dict[str, Any]]:
        """What happened to it."""
        return self.client._pages(self._path + "/history", {})

    def output(self, item: Union[str, int], stream: str = "both", attempt: int = 0, offset: int = 0, follow: bool = False) -> Iterator[bytes]:
        """What an item wrote, in pieces. With follow it goes on until the attempt has ended; where it breaks off, it is opened again
        behind the last byte, as for events."""
        path = "%s/items/%s/log" % (self._path, _quoted(item))
        pause = _Pause(self.client.retry)
        while True:
            query = {"stream": stream, "attempt": attempt or None, "offset": offset or None, "follow": follow or None}
            answer, opened = self.client._open("GET", path, query), time.monotonic()
            try:
                while True:
                    piece = answer.read1(65536)
                    if not piece:
                        return
                    pause.over()
                    offset += len(piece)
                    yield piece
            except (OSError, http.client.HTTPException) as error:
                broken = Error("unreachable", "the output broke off after %d bytes: %s" % (offset, error or type(error).__name__))
                if not follow:
                    raise broken from error
            finally:
                answer.connection.close()  # type: ignore[attr-defined]
            if time.monotonic() - opened > 5:
                pause.over()
            pause.after(broken)

    def _end(self, timeout: Optional[float]) -> Dict[str, Any]:
        """Waits until this job has ended; its last state."""
        end, wait = (time.monotonic() + timeout if timeout is not None else None), 0.1
        while True:
            job = self.info()
            if job["status"] in ENDED:
                return job
            if end is not None and time.monotonic() >= end:
                raise Error("timeout", "job %d is still %s after %g s" % (self.id, job["status"], timeout or 0.0))
            time.sleep(wait if end is None else max(0.0, min(wait, end - time.monotonic())))
            wait = min(1.5 * wait, 2.0)

    def _ends(self, timeout: Optional[float]) -> List[Dict[str, Any]]:
        """Waits until all jobs of the submission have ended; their last states, of this one last."""
        end, rows = (time.monotonic() + timeout if timeout is not None else None), []
        for job in self.jobs:
            try:
                rows.append(job._end(None if end is None else max(0.0, end - time.monotonic())))
            except Error as failed:
                if failed.code != "not-found" or job is self:
                    raise
        return rows

    def wait(self, timeout: Optional[float] = None, check: bool = True) -> Dict[str, Any]:
        """Waits until the job has ended; its last state. With check, one that did not complete is an error."""
        rows = self._ends(timeout)
        for row in rows:
            if check and row["status"] != "complete":
                raise JobFailed(row)
        return rows[-1]

    def result(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Waits until the job is complete; its last state. qb.JobFailed if it ended otherwise."""
        return self.wait(timeout)

    def exception(self, timeout: Optional[float] = None) -> Optional[JobFailed]:
        """Waits until the job has ended; None if it is complete, else the qb.JobFailed that result raises."""
        for row in self._ends(timeout):
            if row["status"] != "complete":
                return JobFailed(row)
        return None

    def done(self) -> bool:
        """Whether the job has ended."""
        return all(row["status"] in ENDED for row in self._infos())

    def running(self) -> bool:
        """Whether items of it run."""
        return any(row["items"]["running"] for row in self._infos())

    def cancelled(self) -> bool:
        """Whether it was killed."""
        return any(row["status"] == "killed" for row in self._infos())

    def cancel(self) -> bool:
        """Kills the job; False if it had ended before."""
        return any([job.kill()["affected"] for job in self.jobs])

    def future(self) -> "concurrent.futures.Future[Dict[str, Any]]":
        """A concurrent.futures.Future of its end, for as_completed, asyncio.wrap_future and callbacks; its cancel kills the job."""
        future = _JobFuture(self)
        future.set_running_or_notify_cancel()

        def watch() -> None:
            try:
                future.set_result(self.wait())
            except BaseException as error:  # the future's owner gets it, whatever it is
                future.set_exception(error)

        threading.Thread(target=watch, name="qb job %d" % self.id, daemon=True).start()
        return future


class _JobFuture(concurrent.futures.Future):  # type: ignore[type-arg] # it has no arguments before Python 3.9's end
    """A job that is already running for concurrent.futures, so that its result comes from the farm even after cancel."""

    def __init__(self, job: JobHandle):
        super().__init__()
        self.job = job

    def cancel(self) -> bool:
        """Kills the job; its result is then qb.JobFailed."""
        return self.job.cancel()


def _not_imported() -> None:
    """Refuses to submit while a host imports a script for map: the script would submit itself again on each host."""
    if os.environ.get(_IMPORTING):
        raise Error("usage", 'a job was submitted while a host imported %s for map; put what your script does below: if __name__ == "__main__":' % os.environ[_IMPORTING])


def _surround(body: Dict[str, Any]) -> None:
    """Gives a job the umask, the system and, if asked, the environment of this process, as qbsub does."""
    if body.get("umask") is None:
        body["umask"] = _umask()
    if body.get("system") is None:
        body["system"] = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    env, own = dict(body.get("env") or {}), dict(os.environ)
    copied = bool(own) and all(name in env for name in own)  # the whole environment, perhaps changed
    flags = body.get("flags") or []
    if "export_environment" in ([one.strip() for one in flags.split(",")] if isinstance(flags, str) else flags):
        for name, value in own.items():
            if not _is_text(name) or not _is_text(value):
                warnings.warn("the variable %a is left out: it is not UTF-8" % name, stacklevel=3)
            else:
                env.setdefault(name, value)
        copied = True
    if copied:
        env = {name: value for name, value in env.items() if not (name in _ITEM_VARIABLES | _SECRETS and value == own.get(name))}
    env.pop(_MARK, None)
    if env or "env" in body:
        body["env"] = env


def _is_text(value: str) -> bool:
    """Whether a text is UTF-8, as bytes of the system's that are not have surrogates for them."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _umask() -> int:
    """The umask of this process; to ask the system call for it would change it for other threads."""
    if sys.platform == "win32":
        return 0o022  # Windows has none, and the items run on Linux hosts
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _warn(job: int, reply: Mapping[str, Any]) -> None:
    """Tells what the farm remarks on a job, as a warning where this module was called."""
    at = sys._getframe(1)
    depth = 2
    while at.f_back and at.f_globals is globals():
        at, depth = at.f_back, depth + 1
    for remark in reply["remarks"]:
        warnings.warn("job %d: %s" % (job, remark), stacklevel=depth)


# ---- what is sent ----

_OF_FILES = ("command", "cwd", "env", "validate", "preflights", "postflights", "agenda_preflights", "agenda_postflights", "pathmap")


def _text(value: Union[str, bytes, "os.PathLike[Any]"], place: str, shown: bool = True) -> str:
    """A text as the farm takes it, in UTF-8. What names files is sent as the bytes that it is here, whatever the encoding of names of
    files of this program: in some a name comes as halves of characters, in others as other characters."""
    if isinstance(value, str) and re.split("[ ,]", place)[0] not in _OF_FILES:
        with contextlib.suppress(UnicodeEncodeError):
            return _no_nul(value.encode(), place, shown)
    try:
        data = os.fsencode(value)
    except UnicodeEncodeError:  # no file here can have that name
        data = str(value).encode("utf-8", "surrogatepass")
    try:
        return _no_nul(data, place, shown)
    except UnicodeDecodeError:
        encoding = sys.getfilesystemencoding()
        hint = "" if encoding == "utf-8" else "; this program takes names of files for %s, python3 -X utf8 for UTF-8" % encoding
        raise Error("usage", "%s: %s is not UTF-8; qb takes text in UTF-8 alone: write it in UTF-8, or rename what it names%s"
                    % (place.strip(), ascii(value) if shown else "its value", hint)) from None


def _no_nul(data: bytes, place: str, shown: bool) -> str:
    """What is text in UTF-8, without NUL."""
    text = data.decode()
    if "\0" in text:
        raise Error("usage", "%s: %s has the character NUL; no process and no row can hold it: leave it out" % (place.strip(), ascii(text) if shown else "its value"))
    return text


def _quoted(part: Any) -> str:
    """A part of a path."""
    return urllib.parse.quote(_text(str(part), "address"), safe="")


def _plain(value: Any, place: str = "", shown: bool = True) -> Any:
    """A value as JSON carries it."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (str, bytes, os.PathLike)):
        return _text(value, place, shown)
    if isinstance(value, datetime.datetime):
        return _query(value)
    if isinstance(value, Mapping):
        return {_text(name if isinstance(name, bytes) else str(name), "%s, a name" % place):
                _plain(one, "%s %s" % (place, name) if place else str(name), shown=not place) for name, one in value.items()}
    if isinstance(value, Iterable):
        return [_plain(one, "%s, word %d" % (place, number)) for number, one in enumerate(value, 1)]
    raise Error("usage", "%s: %.80r cannot be sent: use text, numbers, True, False, None, and lists and dicts of these" % (place, value))


def _body(value: Any) -> bytes:
    try:
        return json.dumps(_plain(value), allow_nan=False).encode()
    except ValueError as error:
        raise Error("usage", "the request cannot be sent: %s" % error) from None


def _query(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, (list, tuple, set)):
        return ",".join(str(one) for one in value)
    return str(value)


def _read(answer: http.client.HTTPResponse, limit: int) -> bytes:
    """The whole answer. It is read in pieces, as Python 3.9 makes a buffer of the size that it is asked for."""
    pieces: List[bytes] = []
    size = 0
    while True:
        piece = answer.read(1 << 16)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise Error("invalid", "the answer is longer than %d bytes" % limit)


def _refusal(answer: http.client.HTTPResponse) -> Error:
    data = _read(answer, 1 << 20)
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
    name, id = "", ""
    data: List[str] = []
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


# ---- map ----
#
# A folder has qb.py, call.json (which function) and items, all arguments one behind the other. Each process on a host adds a file NAME.results, with a
# record for each call: a line of the item's number, the attempt, 1 for a result or 0 for an exception, and the number of bytes that follow.

_IMPORTING = "QB_MAP_IMPORTS"  # set on a host while the function is imported: a script must not submit again then


def _name(function: Union[str, Callable[[Any], Any]]) -> str:
    return function if isinstance(function, str) else str(getattr(function, "__qualname__", function))


def _locate(function: Union[str, Callable[[Any], Any]]) -> Dict[str, Any]:
    """Where hosts find the function."""
    path = [os.path.abspath(one) for one in sys.path]
    if isinstance(function, str):
        module, colon, name = function.partition(":")
        if not colon or not module or not name:
            raise Error("usage", 'map: %r names no function; write "module:name"' % function)
        return {"module": module, "name": name, "file": "", "path": path}
    name = _name(function)
    if not callable(function) or "<" in name:
        raise Error("usage", "map needs a function that can be found by its name in a file; %r cannot" % (function,))
    try:
        file = os.path.abspath(inspect.getsourcefile(function) or "")
    except TypeError:
        file = ""
    if function.__module__ == "__main__" and not os.path.isfile(file):
        raise Error("usage", "map needs a function that can be found by its name in a file; %s is of an interactive session" % name)
    return {"module": function.__module__, "name": name, "file": file, "path": path}


def _encode(value: Any, transport: str) -> bytes:
    if transport == "pickle":
        data = pickle.dumps(value, protocol=4)
    else:
        try:
            data = json.dumps(value, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise Error("usage", '%.80r: %s; use values of JSON, or transport="pickle"' % (value, error)) from None
        if json.loads(data) != value:
            raise Error("usage", '%.80r would come out of JSON as %.80r; use lists for tuples and texts for keys, or transport="pickle"' % (value, json.loads(data)))
    if len(data) > _MAX_VALUE:
        raise Error("usage", "a value of %d bytes, at most %d can travel; write it to a file and give its name" % (len(data), _MAX_VALUE))
    return data


def _decode(data: bytes, transport: str) -> Any:
    return pickle.loads(data) if transport == "pickle" else json.loads(data)


def _pack(function: Union[str, Callable[[Any], Any]], values: Sequence[Any], transport: str, base: str) -> str:
    """Writes what the items need into a new folder in base; its path."""
    if transport not in ("json", "pickle"):
        raise Error("usage", 'transport is %r; use "json" or "pickle"' % transport)
    if len(values) > _MAX_CALLS:
        raise Error("usage", "map: %d items, at most %d; give each more to do" % (len(values), _MAX_CALLS))
    call = dict(_locate(function), transport=transport)
    work = tempfile.mkdtemp(prefix="qb-map-", dir=base)  # that nobody else can enter
    try:
        ends: List[int] = []  # of the arguments in the file
        with open(os.path.join(work, "items"), "wb") as file:
            for value in values:
                ends.append(file.tell() + file.write(_encode(value, transport)))
                if ends[-1] > _MAX_VALUES:
                    raise Error("usage", "map: the items have more than %d bytes; give names of files" % _MAX_VALUES)
        with open(os.path.join(work, "call.json"), "w", encoding="utf-8") as text:
            json.dump(dict(call, ends=ends), text)
        shutil.copyfile(os.path.abspath(__file__), os.path.join(work, "qb.py"))
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return work


def _find_function(call: Mapping[str, Any]) -> Any:
    """The function, on the host."""
    sys.path[:] = call["path"] + [one for one in sys.path if one not in call["path"]]
    if call["module"] == "__main__":
        import runpy
        main = type(sys)("__main__")
        main.__dict__.update(runpy.run_path(call["file"], run_name="__qb_map__"))
        sys.modules["__main__"] = main
        target: Any = main
    else:
        import importlib
        target = importlib.import_module(call["module"])
    for part in call["name"].split("."):
        target = getattr(target, part)
    return target


def _call(work: str) -> int:
    """Calls the function for one item after another, on the host, as the program of a load-once job. An exception is printed, too, and makes the farm's item
    fail, which ends the program."""
    with open(os.path.join(work, "call.json"), encoding="utf-8") as text:
        call = json.load(text)
    function: List[Any] = []  # once it was found
    before: Any = set()  # variables of the item before
    with open(os.path.join(work, "items"), "rb") as items, open(os.path.join(work, uuid.uuid4().hex + ".results"), "wb") as results:
        while True:
            item = _unguarded["requestwork"]()
            if item["status"] != "running":
                return 0
            os.environ.update(item["env"].items() - before)
            before = item["env"].items()
            well = True
            for number in _unguarded["rangesplit"](item["name"]):
                begin = call["ends"][number - 1] if number else 0
                items.seek(begin)
                is_result, data = _call_once(call, function, items.read(call["ends"][number] - begin))
                well = well and is_result
                results.write(b"%d %d %d %d\n" % (number, item["count"], is_result, len(data)) + data)
                results.flush()
            os.fsync(results.fileno())
            _unguarded["reportwork"](dict(item, status="complete" if well else "failed"))


def _call_once(call: Mapping[str, Any], function: List[Any], argument: bytes) -> Tuple[bool, bytes]:
    """One call. Whether it has a result, and this or the exception."""
    try:
        value = _decode(argument, call["transport"])
        if not function:
            os.environ[_IMPORTING] = call["name"]
            try:
                function.append(_find_function(call))
            finally:
                del os.environ[_IMPORTING]
        return True, _encode(function[0](value), call["transport"])
    except (Exception, SystemExit) as error:
        import traceback
        traceback.print_exc()
        trace = traceback.format_exc()[-_MAX_TRACE:]
        return False, json.dumps({"type": type(error).__name__, "detail": str(error)[:_MAX_TRACE], "traceback": trace}).encode()


def _returned(work: str) -> Dict[int, Tuple[int, int, bytes]]:
    """What the calls left: for each item 1 for a result or 0 for an exception, the attempt, and the bytes of the best: a result, else the last exception."""
    found: Dict[int, Tuple[int, int, bytes]] = {}
    total = 0
    for name in os.listdir(work):
        if not name.endswith(".results"):
            continue
        with open(os.path.join(work, name), "rb") as file:
            while True:
                words = file.readline(100).split()
                if len(words) != 4:
                    break  # the end, or a process was killed while it wrote
                number, attempt, is_result, size = (int(word) for word in words)
                if size > _MAX_VALUE:
                    raise Error("invalid", "map: the result of item %d has %d bytes, more than %d" % (number, size, _MAX_VALUE))
                data = file.read(size)
                if len(data) < size:
                    break
                if number not in found or (is_result, attempt) > found[number][:2]:
                    total += size - (len(found[number][2]) if number in found else 0)
                    found[number] = (is_result, attempt, data)
                if total > _MAX_VALUES:
                    raise Error("invalid", "map: the results have more than %d bytes; write them to files" % _MAX_VALUES)
    return found


def _unpack(client: Client, work: str, values: Sequence[Any], transport: str, end: Mapping[str, Any]) -> List[Any]:
    """The results in order, with an ItemError where there is none."""
    found: List[Any] = []
    missing: List[int] = []
    returned, deadline = _returned(work), time.monotonic() + 5  # by then a network file system shows what other hosts wrote
    while len(returned) < len(values) and end["status"] == "complete" and time.monotonic() < deadline:
        time.sleep(0.1)
        returned = _returned(work)
    for number, value in enumerate(values):
        is_result, _, data = returned.get(number, (0, 0, b""))
        if is_result:
            found.append(_decode(data, transport))
        elif data:
            error = json.loads(data)
            found.append(ItemError(number, value, str(error["type"]), str(error["detail"]), str(error["traceback"])))
        else:
            missing.append(number)
            found.append(ItemError(number, value, "", "no result; job %d is %s: %s" % (end["id"], end["status"], end["reason"])))
    if missing and len(missing) <= 1000:  # what the farm says of each is better than what it says of the job
        rows = {str(row["name"]): row for row in client.job(end["id"]).items()}
        for number in missing:
            row = rows.get(str(number))
            if row is not None:
                found[number] = ItemError(number, values[number], "", "no result; the item is %s: %s" % (row["status"], row["reason"] or "the item left no result in the folder"))
    return found


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
        self._made = list(self)

    def unchanged(self) -> bool:
        """Whether these are still the items of the range."""
        return list(self) == self._made


class NotTaken(Error, AttributeError):
    """A function of Qube's that qb has not; hasattr says so, too."""

    def __init__(self, name: str, why: str):
        super().__init__("unsupported", "qb.%s: %s" % (name, why))


# Functions of Qube's that are not here, and why.
_NOT_TAKEN = {
    "jobconfig": "there are no folders of job types; a program of a load-once job reads its settings from files of its own",
    "setlogpath": "the farm has the output; stdout and stderr read it",
    "updateworkerresources": "the resources of a host are in its qb.conf",
    "updateworkerproperties": "the properties of a host are in its qb.conf",
    "deleteworkerresources": "the resources of a host are in its qb.conf",
    "deleteworkerproperties": "the properties of a host are in its qb.conf",
}


class CONST:
    """Numbers of Qube's."""

    QB_TIME_EPOCH_OFFSET = 0  # all times here are seconds since 1970
    STATUS: Dict[str, int] = {"complete": 16, "failed": 32, "killed": 48, "dying": 261, "exiting": 262, "registering": 265, "blocked": 272, "waiting": 288,
                              "suspended": 304, "pending": 320, "badlogin": 325, "running": 336}
    FLAGS: Dict[str, int] = {"uninterruptible": 1, "memory_hard_limit": 2, "grid": 4, "auto_mount": 8, "export_environment": 16, "expand": 32, "thrifty": 64,
                             "export_job_type": 128, "host_list": 256, "elite": 512, "mail": 1024, "disable_windows_job_object": 2048,
                             "disable_cpu_limit": 4096, "disable_auto_complete": 8192, "auto_wrangling": 16384, "p_agenda": 32768,
                             "migrate_on_frame_retry": 65536, "convert_path": 131072, "enable_windows_job_object": 262144, "no_defaults": 524288}


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


def localconfig() -> Dict[str, Any]:
    """The settings of this module: qb_supervisor and client_timeout (seconds)."""
    return {"qb_supervisor": getsupervisor(), "client_timeout": _timeout}


def updatelocalconfig(settings: Mapping[str, Any]) -> bool:
    """Changes settings of localconfig for this process."""
    for key in settings:
        if key not in ("qb_supervisor", "client_timeout"):
            raise Error("usage", "updatelocalconfig: no setting %r; there are qb_supervisor and client_timeout" % key)
    if "qb_supervisor" in settings:
        setsupervisor(str(settings["qb_supervisor"]))
    if "client_timeout" in settings:
        settimeout(int(1000 * float(settings["client_timeout"])))
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


# ---- Qube!'s names: jobs ----

# Attributes of Qube's job dictionaries: name here -> name in REST.
_SAME = ("name", "priority", "cpus", "max_cpus", "cluster", "requirements", "reservations", "restrictions", "hostorder", "account", "user",
         "cwd", "env", "umask", "retrywork", "retrywork_delay", "retrysubjob", "timeout", "agenda_timeout",
         "timelimit", "status", "dependency", "time_estimate", "profile",
         "pgrp", "label", "kind", "system", "pid", "notes", "security", "start", "p_agenda", "p_agenda_priority",
         "p_agenda_cpus", "regex_progress", "regex_errors", "regex_highlights", "regex_outputpaths")
_OF_COMMANDS = ("cmdline", "range", "chunk", "rangeChunkSize", "partitions", "order", "padding", "regex_progress", "regex_errors", "regex_highlights",
                "regex_outputPaths")  # members of a package with which the farm makes commands and items
_PACKAGE = "QB_PACKAGE"  # variable of a load-once job that has its package
_RENAMED = {"agenda_timelimit": "agendatimelimit"}
_LISTS = ("hosts", "omithosts", "groups", "omitgroups", "flags", "preflights", "postflights", "agenda_preflights", "agenda_postflights",
          "validate", "pathmap", "mailaddress")
_TAGS = ("prod_show", "prod_seq", "prod_shot", "prod_dept", "prod_client") + tuple("prod_custom%d" % n for n in range(1, 6))
_NUMBERS = ("priority", "cpus", "retrywork", "retrywork_delay", "retrysubjob", "timeout", "agenda_timeout", "timelimit",
            "agenda_timelimit", "time_estimate", "umask", "pgrp", "pid", "p_agenda_priority", "p_agenda_cpus")
_READ_ONLY = ("id", "agenda", "package", "prototype", "subjobs", "waitfor", "todo", "todotally", "agendastatus", "subjobstatus", "timesubmit",
              "timestart", "timecomplete", "lastupdate", "reason", "code", "cpustally", "path", "queue", "serverid", "globalorder", "localorder", "operatorpriority",
              "flagsstring")
_WITHOUT_EFFECT = ("domain", "mounts", "drivemap", "data", "hostname", "callbacks")
_UNSET: Tuple[Any, ...] = ("", None, [], {}, 0, -1, (), ".")  # what Qube's dictionaries have where nothing was given


def _split(value: Any) -> List[str]:
    if isinstance(value, str):
        return [one.strip() for one in re.split(r"[,\s]+", value) if one.strip()]
    return [str(one) for one in value]


def _entries(value: Any, shell: bool) -> List[str]:
    """A list whose entries may have commas: within quotes of a shell, which stay, or between quotes around an entry, which do not."""
    if not isinstance(value, str):
        return [str(one) for one in value]
    entries, at, text = [], 0, value.strip()
    form = _COMMAND if shell else _PATH
    while at < len(text):
        found = form.match(text, at)
        if found is None:
            raise Error("usage", "%r has a quote that is not closed, or nothing within" % value)
        entry = (found.group("bare") or "").strip()
        for quote in "\"'":
            inner = None if shell else found.group("double" if quote == '"' else "single")
            if inner is not None:
                entry = inner.replace(quote * 2, quote) + found.group("after" if quote == '"' else "behind").rstrip()
        entries.append(entry)
        at = found.end()
    return [one for one in entries if one]


_COMMAND = re.compile(r"""(?P<bare>(?:[^,'"\\]|\\.|\\$|'[^']*'|"(?:[^"\\]|\\.)*")*)(?:,|$)""", re.DOTALL)
_PATH = re.compile(r"""\s*(?:"(?P<double>(?:[^"]|"")+)"(?P<after>[^,"]*)|'(?P<single>(?:[^']|'')+)'(?P<behind>[^,']*)|(?P<bare>(?!\s*["'])[^,]*))(?:,|$)""", re.DOTALL)


def _flags(value: Any) -> List[str]:
    """Names of flags, which may be given as Qube's number."""
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    if not isinstance(value, int):
        return _split(value)
    names = [name for name, bit in CONST.FLAGS.items() if value & bit]
    if value < 0 or value != sum(CONST.FLAGS[name] for name in names):
        raise Error("usage", "flags %d: Qube has no such flags; give their names" % value)
    return names


def _few(names: Iterable[str]) -> str:
    """Names for an error: at most eight, and how many more there are."""
    found = sorted(names)
    return ", ".join(found[:8]) + (" and %d more" % (len(found) - 8) if len(found) > 8 else "")


def _attributes(job: Mapping[str, Any], known: Iterable[str]) -> Dict[str, Any]:
    """The members of a request for the attributes of a job of Qube's."""
    body: Dict[str, Any] = {}
    for key, value in job.items():
        if key in _TAGS:
            body.setdefault("tags", {})[key] = str(value)
        elif key in _LISTS:
            body[key] = _flags(value) if key == "flags" else _entries(value, "flights" in key) if "flights" in key or key in ("validate", "pathmap") else _split(value)
        elif key in _SAME or key in _RENAMED:
            if key in _NUMBERS and isinstance(value, str):
                value = int(value, 8 if key == "umask" else 10)
            if key == "max_cpus" and value != "*":
                value = int(value)
            body[_RENAMED.get(key, key)] = value
        elif key in _WITHOUT_EFFECT:
            if value not in _UNSET:
                warnings.warn("qb has no %s; the attribute has no effect" % key, stacklevel=5)
        elif key not in known:
            raise Error("usage", "a job has no %r; jobs have %s" % (key, _few(_SAME + _LISTS + _TAGS + ("agenda", "package", "prototype"))))
    return body


def _request(job: Mapping[str, Any]) -> Tuple[Any, Dict[str, Any]]:
    """The command and the attributes of a submission."""
    package = job.get("package") or {}
    prototype = job.get("prototype", "cmdrange" if job.get("agenda") or package.get("range") else "cmdline")
    if prototype.lower() not in ("cmdline", "cmdrange", "pycmdline", "pycmdrange", "loadonce"):
        raise Error("usage", "prototype %r: qb runs command lines; use cmdline, cmdrange or loadonce" % prototype)
    command = package.get("cmdline")
    if not command:
        raise Error("usage", "job %r has no package['cmdline']" % job.get("name", ""))
    body = _attributes(job, _READ_ONLY)
    if prototype.lower() == "loadonce":
        body["type"] = "loadonce"
        if any(key not in _OF_COMMANDS for key in package):  # the program reads it
            body["env"] = dict(body.get("env") or {}, **{_PACKAGE: _body(package).decode()})
    if job.get("waitfor"):
        links = [body["dependency"]] if body.get("dependency") else []
        body["dependency"] = ",".join(links + ["link-done-job-%s" % one for one in _split(job["waitfor"])])
    agenda = job.get("agenda") or []
    if any(isinstance(one, Mapping) and one.get("package") for one in agenda):
        warnings.warn("qb has no package of an item; the package has no effect", stacklevel=4)
    if isinstance(agenda, Agenda) and agenda.unchanged():
        body.update(agenda.source)
    elif agenda:
        body.update(_listed([str(one["name"] if isinstance(one, Mapping) else one) for one in agenda]))
    elif package.get("range"):
        body["range"] = str(package["range"])
        for key, written in (("chunk", "chunk"), ("rangeChunkSize", "chunk"), ("partitions", "partitions")):
            if package.get(key):
                body[written] = int(package[key])
        if package.get("order"):
            body["order"] = str(package["order"])
    if package.get("padding") and "range" in body:
        body["padding"] = int(package["padding"])
    for key in ("regex_progress", "regex_errors", "regex_highlights", "regex_outputPaths"):
        if package.get(key):
            body[key.lower()] = package[key] if isinstance(package[key], str) else "\n".join(package[key])
    for key in ("p_agenda", "p_agenda_priority", "p_agenda_cpus"):
        if body.get(key) in _UNSET:
            body.pop(key, None)
    if isinstance(body.get("p_agenda"), (list, tuple)):
        body["p_agenda"] = ",".join(str(one["name"] if isinstance(one, Mapping) else one) for one in body["p_agenda"])
    if prototype.lower().startswith("py") and "convert_path" not in body.get("flags", []):
        body["flags"] = body.get("flags", []) + ["convert_path"]  # such jobs always map paths
    return command, body


def _listed(names: Sequence[str]) -> Dict[str, Any]:
    """The range and chunk that give these items."""
    if not any("," in name or _PART.match(name) and len(rangesplit(name)) > 1 for name in names):
        return {"range": ",".join(names)}
    size = len(rangesplit(names[0]))
    text = _written([number for name in names for number in rangesplit(name)])
    if rangechunk(text, size) != list(names):
        raise Error("usage", "an agenda of chunks of different lengths: %.200s; submit a job for each length" % ", ".join(names))
    return {"range": text, "chunk": size}


_LINK = re.compile(r"^link-(complete|done|failed|killed)-(job|work|subjob)-(.+)$")


def _parents(job: Mapping[str, Any], labels: Mapping[str, int]) -> Dict[str, str]:
    """The labels of other jobs of the same submission that a dependency names, by its links."""
    found = {}
    for link in _split(job.get("dependency") or ""):
        match = _LINK.match(link)
        if match and not match.group(3).isdigit():
            if match.group(3) not in labels:
                raise Error("usage", "job %r depends on %s, but no job of this submission has the label %s" % (job.get("name", ""), link, match.group(3)))
            found[link] = match.group(3)
    return found


def _in_order(jobs: Sequence[Mapping[str, Any]]) -> List[int]:
    """The places of jobs so that each comes behind those that it depends on by label."""
    labels: Dict[str, int] = {}
    for place, job in enumerate(jobs):
        if job.get("label"):
            if job["label"] in labels:
                raise Error("usage", "two jobs of this submission have the label %s" % job["label"])
            labels[str(job["label"])] = place
    waiting = {place: {labels[label] for label in _parents(job, labels).values()} for place, job in enumerate(jobs)}
    order: List[int] = []
    while waiting:
        free = [place for place, parents in waiting.items() if parents <= set(order)]
        if not free:
            raise Error("usage", "jobs of this submission wait for each other: labels %s" % ", ".join(sorted(str(jobs[place]["label"]) for place in waiting if jobs[place].get("label"))))
        order.append(free[0])
        del waiting[free[0]]
    return order


def submit(*jobs: Any, deferTableCreation: bool = True) -> List[Job]:
    """Submits jobs, single ones and lists of them, and returns them with their ids, in the order given. A dependency may name the
    label of another job of the call. Jobs of one call are one process group, that of the first which is submitted, unless they name
    another. Mistakes that can be seen here are raised before anything is submitted. Where the farm refuses a
    job, qb.Error is raised; those before it stay submitted, and are in the error's ``submitted``."""
    global _last_error
    given: List[Mapping[str, Any]] = []
    for one in jobs:
        given.extend([one] if isinstance(one, Mapping) else one)
    done: Dict[int, Job] = {}
    group = 0
    try:
        requests = [_request(job) for job in given]
        for place in _in_order(given):
            command, body = requests[place]
            ids = {str(job["label"]): job["id"] for job in done.values() if job.get("label")}
            for link, label in _parents(given[place], ids).items():
                links = [link[:-len(label)] + str(ids[label]) if part == link else part for part in _split(body["dependency"])]
                body["dependency"] = ",".join(links)
            if body.get("pgrp", 0) in (0, given[place].get("id")):  # none is given, or what jobinfo says of a job that has its own
                body["pgrp"] = group
            handle = _farm().submit(command, **body)
            done[place] = Job(given[place])
            done[place].update(id=handle.id, pgrp=body["pgrp"] or (handle.before or [handle.id])[0])
            group = group or done[place]["pgrp"]
    except Error as failed:
        _last_error = str(failed)
        failed.submitted = [done[place] for place in sorted(done)]  # type: ignore[attr-defined]
        raise
    return [done[place] for place in range(len(given))]


def validatejob(job: Mapping[str, Any]) -> bool:
    """True if a dictionary is a job that can be sent; else qb.Error says what is wrong. The farm is not asked."""
    _request(job)
    return True


def archivejob(filename: str, job: Any) -> bool:
    """Writes a job to a file of JSON: one that was submitted, by its id or as jobinfo returns it, with its state, or a dictionary as it is
    given to submit. recoverjob reads both, and ``qbsub -import`` the first."""
    if not isinstance(job, Mapping) or "timesubmit" in job:
        text = json.dumps(_farm().request("GET", "/v1/jobs/%d/archive" % _ids([job])[0]), indent=2)
        with _replaced(filename) as file:
            file.write(text + "\n")
        return True
    _request(job)
    found = dict(job)
    agenda = found.get("agenda")
    if isinstance(agenda, Agenda) and agenda.unchanged():
        found["package"] = dict(found.get("package") or {}, **agenda.source)
        del found["agenda"]
    data = json.dumps(found, indent=1, sort_keys=True)
    with _replaced(filename) as file:
        file.write(data)
    return True


def recoverjob(filename: str) -> Job:
    """A job that archivejob wrote, ready to be submitted again."""
    with open(filename, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as failed:
            raise Error("usage", "%s is no archive of a job: %s" % (filename, failed)) from None
    if not isinstance(found, dict):
        raise Error("usage", "%s is no archive of a job" % filename)
    if found.get("format") == "qb-job":
        return _recovered(filename, found)
    job = Job({key: value for key, value in found.items() if key not in ("id", "pgrp")})
    if "agenda" in job:
        job["agenda"] = [Work(one) for one in job["agenda"]]
    return job


def _recovered(filename: str, archive: Mapping[str, Any]) -> Job:
    """The job of an archive of the farm's, without its owner, group and parent, which are those of the farm that it came from."""
    given = archive.get("submission")
    if archive.get("version") != 1 or not isinstance(given, dict) or not given.get("command"):
        raise Error("usage", "%s is no archive of a job in version 1" % filename)
    command = given["command"]
    package: Dict[str, Any] = {"cmdline": command[0] if given.get("shell") and len(command) == 1 else command}
    names = {written: name for name, written in _RENAMED.items()}
    job = Job(prototype="cmdrange" if given.get("range") else "cmdline")
    for key, value in given.items():
        if key in ("range", "chunk", "partitions", "order", "padding"):
            package[key] = value
        elif key == "tags":
            job.update(value)
        elif key not in ("command", "shell", "user", "pgrp", "pid"):
            job[names.get(key, key)] = value
    job["package"] = package
    return job


@contextlib.contextmanager
def _replaced(filename: str) -> Iterator[Any]:
    """A new file, readable by its owner alone, that takes the place of filename when it is whole."""
    handle, part = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(filename)), prefix=".qb-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            yield file
        os.replace(part, filename)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def _seconds(moment: Optional[str]) -> int:
    if not moment:
        return 0
    text = re.sub(r"\.\d+", "", moment).replace("Z", "+00:00")
    return int(datetime.datetime.fromisoformat(text).timestamp())


def _job(row: Mapping[str, Any]) -> Job:
    counts, running = row["items"], row["instances"]
    job = Job({key: row[key] for key in ("id", "name", "user", "status", "priority", "cluster", "cpus", "reason", "code", "requirements", "reservations",
                                         "restrictions", "hostorder", "account", "dependency", "cwd", "retrywork", "pgrp",
                                         "label", "kind", "system", "pid", "notes")})
    job["max_cpus"] = -1 if row["max_cpus"] is None else row["max_cpus"]
    job["prototype"] = row["type"]
    job["todo"], job["todotally"] = counts["total"], {key: value for key, value in counts.items() if key != "total"}
    job["cpustally"] = {"running": running["primary"] + running["secondary"] + running["draining"]}
    states = [state for state in ("running", "pending", "blocked", "killed", "failed") if counts[state]]
    job["agendastatus"] = states[0] if states else "complete"
    job["subjobstatus"] = "running" if job["cpustally"]["running"] and row["status"] != "suspended" else row["status"]
    for key in ("hosts", "omithosts", "groups", "omitgroups", "flags"):
        job[key] = ",".join(row[key])
    job["mailaddress"] = ",".join(row["mailaddress"])
    for key in _TAGS:
        job[key] = row["tags"].get(key, "")
    job["timesubmit"], job["timestart"], job["timecomplete"] = (_seconds(row[key]) for key in ("submitted_at", "started_at", "finished_at"))
    job["timelimit"], job["agenda_timelimit"] = row.get("timelimit", 0), row.get("agendatimelimit", 0)
    for key in ("time_estimate", "profile"):
        if row.get(key):
            job[key] = row[key]
    command = row["command"]
    job["package"] = {"cmdline": command[0] if len(command) == 1 else shlex.join(command), "range": row["range"]}
    return job


def _work(row: Mapping[str, Any], job: int) -> Work:
    return Work(name=row["name"], id=row["number"], pid=job, status=row["status"], host=row["host"] or "", count=row["attempt"], exit_code=row["exit_code"],
                reason=row["reason"], timestart=_seconds(row["started_at"]), timecomplete=_seconds(row["finished_at"]))


def _several(words: Any) -> List[Any]:
    """Several jobs or items. Bytes are refused: Python iterates them as numbers, which would be taken for jobs."""
    if isinstance(words, Iterable) and not isinstance(words, (bytes, bytearray, memoryview)):
        return list(words)
    raise Error("usage", "%s is no job and no item: write 12, or \"12:5-9\" for items" % _shown(words))


def _targets(words: Iterable[Any]) -> Iterator[Tuple[int, str]]:
    """Jobs, and items of them ("" for the whole job), of numbers, texts such as "12" and "12:5-9", jobs, works and lists of these."""
    for one in words:
        if isinstance(one, Work):
            yield int(one["pid"]), str(one["name"])
        elif isinstance(one, Mapping):
            yield int(one["id"]), ""
        elif isinstance(one, JobHandle):
            yield one.id, ""
        elif isinstance(one, (int, str)):
            number, colon, items = str(one).partition(":")
            if not number.isdigit() or colon and not items:
                raise Error("usage", "%r is no job and no item: write 12, or 12:5-9 for items" % one)
            yield int(number), items
        else:
            yield from _targets(_several(one))


def _ids(words: Iterable[Any]) -> List[int]:
    found = []
    for job, items in _targets(words):
        if items:
            raise Error("usage", "%d:%s is no job; write %d" % (job, items, job))
        found.append(job)
    return found


# Filters of Qube's that the farm knows too; the others are compared here.
_FILTERS = {"user": "user", "status": "status", "name": "name", "cluster": "cluster", "id": "ids"}
_COMPARED = ("priority", "cpus", "pgrp", "label", "kind", "pid", "prototype", "groups", "hosts", "account", "todo", "max_cpus") + _TAGS
_STATES = ("pending", "blocked", "running", "suspended") + ENDED


def jobinfo(*args: Any, id: Any = None, name: Any = None, user: Any = None, status: Any = None, agenda: bool = False, subjobs: bool = False,
            callbacks: bool = False, fields: Optional[Sequence[str]] = None, filters: Optional[Mapping[str, Any]] = None, updatedAfter: Optional[int] = None,
            submittedAfter: Optional[int] = None, submittedBefore: Optional[int] = None, minid: Optional[int] = None, maxid: Optional[int] = None,
            limit: Optional[int] = None, orderby: str = "id") -> List[Job]:
    """Jobs as dictionaries with Qube's keys, ordered by a key. filters takes the members id, name, user, status, cluster, priority,
    cpus, max_cpus, pgrp, label, kind, pid, prototype, groups, hosts, account, todo and the tags, each with a value or a list of them; agenda adds the
    items, subjobs the running instances."""
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
    compared: Dict[str, List[str]] = {}
    for key, value in wanted.items():
        if key in _COMPARED or key in ("name", "user", "cluster") and not isinstance(value, str):
            compared[key] = [str(one) for one in ([value] if isinstance(value, (str, int)) else value)]
        elif key == "status":  # Qube has more states; no job of qb's is in them
            named = [one for one in _split(value) if one in _STATES or one in ("done", "active") or one not in CONST.STATUS]
            if not named:
                return []
            query[key] = named
        elif key in _FILTERS:
            query[_FILTERS[key]] = _ids([value]) if key == "id" else value
        else:
            raise Error("usage", "no filter %r; there are %s" % (key, _few(tuple(_FILTERS) + _COMPARED)))
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
        if any(str(job[key]) not in values for key, values in compared.items()):
            continue
        if agenda:
            job["agenda"] = [_work(one, row["id"]) for one in _farm().job(row["id"]).items()]
        found.append(job)
        if limit is not None and len(found) >= limit and orderby == "-id":
            break
    if subjobs and found:
        running = _subjobs()
        for job in found:
            job["subjobs"] = running.get(job["id"], [])
    key = orderby.lstrip("-")
    found.sort(key=lambda one: (one.get(key) is None, one.get(key)), reverse=orderby.startswith("-"))
    if fields:
        found = [Job({key: job[key] for key in job if key in fields or key == "id"}) for job in found]
    return found if limit is None else found[:limit]


def _subjobs() -> Dict[int, List[Subjob]]:
    """The running instances of each job."""
    found: Dict[int, List[Subjob]] = {}
    for host in _farm().hosts():
        for one in host["instances"]:
            found.setdefault(one["job"], []).append(_subjob(one, host["name"]))
    for instances in found.values():
        instances.sort(key=lambda one: int(one["id"]))
    return found


def _subjob(row: Mapping[str, Any], host: str) -> Subjob:
    return Subjob(pid=row["job"], id=row["instance"], host=host, status="running", work=row["item"], kind=row["kind"])


def modify(changes: Mapping[str, Any], *ids: Any) -> List[int]:
    """Changes attributes of unfinished jobs; the ids of those that were changed."""
    body = _attributes(changes, ())
    done = _ids(ids)
    for id in done:
        _farm().job(id).modify(**body)
    return done


# Orders on jobs. Each takes ids, jobs and lists of them, items as "JOB:ITEMS" and instances as "JOB.NUMBERS", and returns those that it affects.

def _parts(words: Iterable[Any]) -> Iterator[Tuple[int, str, str]]:
    """As _targets, and instances of texts such as "12.3" and "12.0-3", and of Subjobs: the third text."""
    for one in words:
        if isinstance(one, Subjob):
            yield int(one["pid"]), "", str(one["id"])
        elif isinstance(one, str) and re.match(r"\d+\.[\d,-]+$", one):
            number, _, instances = one.partition(".")
            yield int(number), "", instances
        elif isinstance(one, (int, str, Mapping, JobHandle)):
            for job, items in _targets([one]):
                yield job, items, ""
        else:
            yield from _parts(_several(one))


def _ordered(action: str, words: Iterable[Any]) -> List[Any]:
    done: List[Any] = []
    for job, items, instances in list(_parts(words)):
        if _farm().job(job).order(action, items, instances)["affected"]:
            done.append("%d:%s" % (job, items) if items else "%d.%s" % (job, instances) if instances else job)
    return done


def _ordered_work(action: str, words: Iterable[Any]) -> List[str]:
    found = list(_targets(words))
    for job, items in found:
        if not items:
            raise Error("usage", "%d is a job, not an item: write %d:NAME" % (job, job))
    return _ordered(action, ["%d:%s" % one for one in found])


def kill(*ids: Any) -> List[Any]:
    """Ends jobs; their unfinished items are killed."""
    return _ordered("kill", ids)


def block(*ids: Any) -> List[Any]:
    """Keeps jobs from running."""
    return _ordered("block", ids)


def unblock(*ids: Any) -> List[Any]:
    """Lets blocked jobs run."""
    return _ordered("unblock", ids)


def interrupt(*ids: Any) -> List[Any]:
    """Stops instances at once; their items run again."""
    return _ordered("interrupt", ids)


def preempt(*ids: Any) -> List[Any]:
    """Ends instances after their item."""
    return _ordered("preempt", ids)


def retry(*ids: Any) -> List[Any]:
    """Runs failed and killed items again."""
    return _ordered("retry", ids)


def requeue(*ids: Any) -> List[Any]:
    """Puts failed and killed items back and blocks the job, so that it can be changed first."""
    return _ordered("requeue", ids)


def redo(*ids: Any) -> List[Any]:
    """Runs all items again, complete ones too; this is what Qube's retry of a complete job does."""
    return _ordered("redo", ids)


def suspend(*ids: Any) -> List[Any]:
    """Stops the processes of jobs by a signal; resume lets them continue."""
    return _ordered("suspend", ids)


def resume(*ids: Any) -> List[Any]:
    """Lets suspended jobs continue."""
    return _ordered("resume", ids)


def migrate(*ids: Any) -> List[Any]:
    """Stops instances at once; their items run again on other hosts, and their jobs avoid these for a while."""
    return _ordered("migrate", ids)


def retire(*ids: Any) -> List[Any]:
    """Ends instances after their item and makes their jobs narrower; of jobs and items, what has not begun counts as complete."""
    return _ordered("retire", ids)


def complete(*ids: Any) -> List[Any]:
    """Ends jobs as complete: items that are not complete count as it without being run; running ones are stopped."""
    return _ordered("complete", ids)


def fail(*ids: Any) -> List[Any]:
    """Ends jobs as failed: unfinished items count as failed without being run; running ones are stopped."""
    return _ordered("fail", ids)


def shove(*ids: Any) -> List[Any]:
    """Has the farm consider jobs now."""
    return _ordered("shove", ids)


def top(*ids: Any) -> List[Any]:
    """Puts jobs before the others of their cluster and priority: before own ones, or as an operator before all."""
    return _ordered("top", ids)


def bottom(*ids: Any) -> List[Any]:
    """Puts jobs behind the others of their cluster and priority: behind own ones, or as an operator behind all."""
    return _ordered("bottom", ids)


def remove(*ids: Any) -> List[int]:
    """Removes jobs that have ended, with their history and output."""
    done = _ids(ids)
    for id in done:
        _farm().job(id).remove()
    return done


def killwork(*works: Any) -> List[str]:
    """Kills items, each "JOB:NAME", "JOB:5-9" or a Work."""
    return _ordered_work("kill", works)


def retrywork(*works: Any) -> List[str]:
    """Runs failed and killed items again."""
    return _ordered_work("retry", works)


def requeuework(*works: Any) -> List[str]:
    """Puts failed and killed items back, blocked."""
    return _ordered_work("requeue", works)


def redowork(*works: Any) -> List[str]:
    """Runs items again, complete ones too."""
    return _ordered_work("redo", works)


def interruptwork(*works: Any) -> List[str]:
    """Stops items at once; they run again."""
    return _ordered_work("interrupt", works)


def blockwork(*works: Any) -> List[str]:
    """Keeps items from running."""
    return _ordered_work("block", works)


def unblockwork(*works: Any) -> List[str]:
    """Lets blocked items run."""
    return _ordered_work("unblock", works)


def completework(*works: Any) -> List[str]:
    """Ends items as complete, though they did not run to their end."""
    return _ordered_work("complete", works)


def failwork(*works: Any) -> List[str]:
    """Ends unfinished items as failed, though they did not run to their end."""
    return _ordered_work("fail", works)


retirework = completework
workkill, workretry, workrequeue, workblock, workunblock = killwork, retrywork, requeuework, blockwork, unblockwork


def hist(id: Any) -> List[Dict[str, Any]]:
    """What happened to a job, the oldest first."""
    return list(_farm().job(_ids([id])[0]).history())


def stats(*ids: Any) -> List[Dict[str, Any]]:
    """Figures of jobs: items by state, their mean wall time, CPU seconds of all attempts, largest memory in bytes."""
    found = []
    for id in _ids(ids):
        handle = _farm().job(id)
        row = handle.info()
        attempts = list(handle.attempts())
        found.append({"id": id, "name": row["name"], "status": row["status"], "todotally": {key: value for key, value in row["items"].items() if key != "total"},
                      "todo": row["items"]["total"], "mean_item_seconds": row["mean_item_seconds"], "attempts": len(attempts),
                      "cpu_seconds": sum(one["cpu_seconds"] or 0 for one in attempts), "largest_memory": row["memory"]["largest_peak"]})
    return found


def _output(stream: str, id: Any, pos: int, length: Optional[int]) -> str:
    job, item = next(_targets([id]), (0, ""))
    if not job:
        raise Error("usage", "no job is named: write 12, or 12:5 for an item")
    handle = _farm().job(job)
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


def joborder(host: str) -> List[Dict[str, Any]]:
    """The jobs whose waiting items would go to a host, in that order: their id, place (from 1), name, user, priority and cluster. Behind them
    those whose items would not: their place is 0, and code and reason say why."""
    found = []
    for row in _farm().request("GET", "/v1/hosts/%s/joborder" % _quoted(host)):
        row["id"] = row.pop("job")
        found.append(row)
    return found


def hostorder(job: Any) -> List[Dict[str, Any]]:
    """The hosts to which a job's waiting items may go, as the job prefers them: their name and place (from 1). Behind them the others: their place
    is 0, and code and reason say why."""
    found = []
    for row in _farm().request("GET", "/v1/jobs/%d/hostorder" % _ids([job])[0]):
        row["name"] = row.pop("host")
        found.append(row)
    return found


def jobtagvalues(tag: str, user: Optional[str] = None) -> List[str]:
    """The values that jobs have of a tag such as prod_show."""
    if tag not in _TAGS:
        raise Error("usage", "no tag %r; there are %s" % (tag, _few(_TAGS)))
    return sorted({row["tags"][tag] for row in _farm().jobs(user=user, limit=1000) if row["tags"].get(tag)})


# ---- Qube!'s names: the farm ----

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
            host["subjobs"] = [_subjob(one, row["name"]) for one in row["instances"]]
        if all(host.get(key) == value for key, value in wanted.items()):
            found.append({key: host[key] for key in host if not fields or key in fields or key == "name"})
    return found


def _host(name: str) -> Dict[str, Any]:
    for row in _farm().hosts():
        if row["name"] == name:
            return row
    raise Error("not-found", "there is no host %s" % name, 404)


def workerping(name: str, asDict: bool = False) -> Any:
    """What the farm last heard from a host: its state and when, as a line or as a dictionary."""
    row = _host(name)
    found = {key: row[key] for key in ("name", "state", "last_seen_at", "cluster", "locked")}
    return found if asDict else " ".join("%s=%s" % (key, found[key]) for key in sorted(found))


def workerconfig(name: str) -> Dict[str, Any]:
    """The settings that a host reports, with the names of qb.conf."""
    row = _host(name)
    return {"worker_name": row["name"], "worker_cpus": row["slots"]["total"], "worker_cluster": row["cluster"], "worker_groups": row["groups"],
            "worker_resources": row["resources"], "worker_properties": row["properties"]}


def workerlock(name: str, lock: Union[bool, str] = True) -> bool:
    """Keeps new items from a host, or lets them come again. Of Qube's texts "host.processor_all=1" and "host.processor_all=0" are
    taken; a host is locked whole."""
    if isinstance(lock, str):
        texts = {"host.processor_all=1": True, "host.processor_all=0": False, "": False}
        if lock not in texts:
            raise Error("usage", "workerlock: %r; a host is locked whole, so use True or False" % lock)
        lock = texts[lock]
    answer = _farm().request("POST", "/v1/hosts/%s/%s" % (_quoted(name), "lock" if lock else "unlock"))
    return bool(answer["affected"])


def bannedworkers() -> List[str]:
    """Hosts that are banned: always none, as a host of qb's that was removed may come again."""
    return []


def supervisorconfig() -> Dict[str, Any]:
    """Settings of the supervisor that decide about jobs, with the names of qb.conf."""
    policy = _farm().request("GET", "/v1/snapshot")["policy"]
    return {"supervisor_smart_share_mode": policy["mode"], "supervisor_smart_share_preempt_policy": policy["preempt"],
            "supervisor_default_max_cpus": policy["default_max_cpus"], "supervisor_max_cpus_limit": policy["max_cpus_limit"],
            "supervisor_smart_share_unit": policy["share_unit"], "supervisor_queue_algorithm": ",".join(policy["order"])}


def getresources() -> Dict[str, str]:
    """The resources of the farm, such as license.nuke, as "used/total": what is used outside counts as far as the farm lacks it."""
    rows: List[Dict[str, Any]] = _farm().request("GET", "/v1/resources")
    return {row["name"]: "%d/%d" % (row["used_here"] + row["has"] - row["allowed"], row["has"]) for row in rows}


def updateresources(resources: Mapping[str, Any]) -> List[str]:
    """Says how many of resources exist and how many are used outside of the farm: {"license.nuke": {"total": 60, "used": 12}}, or
    {"license.nuke": "12/60"}. For operators. The names of those that were updated."""
    for name, use in resources.items():
        if isinstance(use, str):
            used, _, total = use.partition("/")
            use = {"used": int(used), "total": int(total)} if total else {"used": int(used)}
        body = {theirs: int(use[ours]) for ours, theirs in (("total", "total"), ("used", "used_outside")) if ours in use}
        _farm().request("PATCH", "/v1/resources/" + _quoted(name), body=body)
    return list(resources)


def admincommand(command: str) -> Any:
    """Gives the supervisor a command; "reread" is the one there is, and returns which settings have changed."""
    if command.lstrip("-") != "reread":
        raise Error("usage", "admincommand %r: qb has reread alone" % command)
    return _farm().request("POST", "/v1/reread")


def qbadmin_reconfigureworkers(*hosts: str) -> bool:
    """Has the supervisor read its files again, so that workers take what these set for them within seconds. For admins. False if one
    of the hosts cannot take it."""
    _farm().request("POST", "/v1/reread")
    return not any(_farm().request("GET", "/v1/hosts/%s/configuration" % _quoted(host)).get("error") for host in hosts)


def updateworkerconfig(*hosts: str) -> bool:
    """The same: settings of workers are in the file of supervisor_worker_configfile."""
    return qbadmin_reconfigureworkers(*hosts)


def getusers() -> List[Dict[str, Any]]:
    """The users of the farm: name, role, groups, disabled, …"""
    rows: List[Dict[str, Any]] = _farm().request("GET", "/v1/users")
    return rows


def setusers(*users: Any) -> List[str]:
    """Adds users, or changes those there are: dictionaries with name and role (read-only, user, operator or admin), and groups, leads,
    submit_as or disabled. The names of those that were set."""
    given: List[Mapping[str, Any]] = []
    for one in users:
        given.extend([one] if isinstance(one, Mapping) else one)
    known = {row["name"] for row in getusers()}
    for user in given:
        body = {key: value for key, value in user.items() if key != "name"}
        if user["name"] in known:
            _farm().request("PATCH", "/v1/users/" + _quoted(user["name"]), body=body)
        else:
            _farm().request("POST", "/v1/users", body=dict(body, name=user["name"]))
    return [str(user["name"]) for user in given]


def isadmin(user: Optional[str] = None) -> bool:
    """Whether the caller, or another user, is an admin."""
    if user is None:
        return bool(_farm().request("GET", "/v1/ping")["role"] == "admin")
    return any(row["name"] == user and row["role"] == "admin" and not row["disabled"] for row in getusers())


# ---- programs of load-once jobs ----

_ASK_WAIT = 10  # seconds for which a request for an item waits at most


class _Session:
    """The connection of a program to the process that keeps it: docs/sessions.md of qb."""

    def __init__(self) -> None:
        self.pid, self.lock = os.getpid(), threading.Lock()
        self.stream: Any = None
        self.paths: Optional[Dict[str, str]] = None  # of the item that came last, else of the job

    def ask(self, do: str, **members: Any) -> Dict[str, Any]:
        """The reply to a request."""
        path = os.environ.get("QB_WORK", "")
        if not path:
            raise Error("usage", "%s: this is no program of a load-once job; submit its command with prototype loadonce" % do)
        line = _body(dict(members, do=do, version=1)) + b"\n"
        with self.lock:
            try:
                if self.stream is None:
                    with socket.socket(socket.AF_UNIX) as connection:
                        connection.connect(path)
                        self.stream = connection.makefile("rwb")
                self.stream.write(line)
                self.stream.flush()
                reply = self.stream.readline(_MAX_LINE)
                if not reply.endswith(b"\n"):
                    raise OSError("the connection was closed")
            except OSError as error:
                self.stream = None
                raise Error("unreachable", "%s: the socket %s (QB_WORK): %s" % (do, path, error)) from error
        answer: Dict[str, Any] = json.loads(reply)
        if answer.get("error"):
            raise Error(answer["error"], "%s: %s" % (do, answer["detail"]))
        return answer


_of_process: Optional[_Session] = None


def _session() -> _Session:
    """That of this process: what was forked has a connection of its own."""
    global _of_process
    if _of_process is None or _of_process.pid != os.getpid():
        _of_process = _Session()
    return _of_process


def _own_number(variable: str, function: str) -> int:
    try:
        return int(os.environ[variable])
    except (KeyError, ValueError):
        raise Error("usage", "%s: this process is of no item: it has no %s" % (function, variable)) from None


def jobid() -> int:
    """The number of the job of which this process is."""
    return _own_number("QBJOBID", "jobid")


def subid() -> int:
    """The number of the instance of which this process is."""
    return _own_number("QBSUBID", "subid")


def jobobj() -> Job:
    """The job whose program this is: id, subid (the instance), name, user, pgrp, cwd, env and, with all that it had when it was submitted with
    qb.submit, package."""
    of = _session().ask("jobobj")["job"]
    command, env = of["command"], of.get("env", {})
    try:
        package = dict(json.loads(env.get(_PACKAGE, "{}")))
    except ValueError:
        package = {}
    package.setdefault("cmdline", command[0] if len(command) == 1 else shlex.join(command))
    return Job(id=of["id"], subid=of["instance"], name=of["name"], user=of["user"], pgrp=of["pgrp"], cwd=of["cwd"], env=env, prototype="loadonce",
               status="running", package=package)


def requestwork() -> Work:
    """The next item of the program. It waits until there is one, or none will come. status is running, and the item is in name, id (its number), count (the attempt),
    pid (the job), start, end, step, slots, memory, env (its variables); or it says to end: pending, complete or blocked."""
    while True:
        answer = _session().ask("requestwork", wait=_ASK_WAIT)
        if answer["status"] != "waiting":
            break
    if answer["status"] != "running":
        return Work(status=answer["status"], name="", package={}, resultpackage={})
    of = answer["work"]
    _session().paths = _pairs(of)
    work = Work(status="running", name=of["name"], id=of["item"], count=of["attempt"], pid=of["job"], subid=of["instance"], package={}, resultpackage={})
    work.update((key, of[key]) for key in ("start", "end", "step", "slots", "memory", "env") if key in of)
    return work


def reportwork(work: Mapping[str, Any]) -> bool:
    """Says what became of an item that requestwork gave: its status is complete or failed, or still running, with progress in per cent. resultpackage may have
    outputPaths (a list, or a text with commas) and further values of JSON, of at most 4096 bytes. With failed, exit_code and reason may say more. What is in the buffers of
    sys.stdout and sys.stderr is written before."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    for key in ("id", "count"):
        if not isinstance(work.get(key), int):
            raise Error("usage", "reportwork: the work has no %s; report what requestwork returned" % key)
    members: Dict[str, Any] = {"item": work["id"], "attempt": work["count"], "status": str(work.get("status"))}
    result = work.get("resultpackage") or {}
    if not isinstance(result, Mapping):
        raise Error("usage", "reportwork: resultpackage is %s; give a dictionary" % _shown(result))
    result = dict(result)
    paths = result.pop("outputPaths", [])
    if paths:
        members["output_paths"] = [one.strip() for one in paths.split(",") if one.strip()] if isinstance(paths, str) else list(paths)
    if result:
        members["result"] = result
    members.update((key, work[key]) for key in ("progress", "exit_code", "reason") if work.get(key))
    _session().ask("reportwork", **members)
    return True


def reportjob(status: str) -> bool:
    """Says that the program is about to end, with any state of a job. The farm decides the job's state by the items."""
    if status not in CONST.STATUS:
        raise Error("usage", "reportjob: %s is no state; use one of %s" % (_shown(status), ", ".join(CONST.STATUS)))
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    _session().ask("reportjob", status="failed" if status == "failed" else "complete")
    return True


def _pairs(of: Mapping[str, Any]) -> Dict[str, str]:
    return {one["from"]: one["to"] for one in of.get("paths", [])}


def workerpathmap() -> Dict[str, str]:
    """How this host writes paths of other sites: worker_path_map, and the map of the job."""
    session = _session()
    if session.paths is None:
        session.paths = _pairs(session.ask("jobobj")["job"])
    return dict(session.paths)


def convertpath(path: str) -> str:
    """A path as this host has it by workerpathmap: the longest entry wins, and only whole parts of a path match. In entries of Windows the case of letters and the
    kind of slashes mean nothing."""
    for source, target in sorted(workerpathmap().items(), key=lambda entry: -len(entry[0])):
        windows = source[1:2] == ":" or source[:2] in ("//", "\\\\")
        source, given = (source.replace("\\", "/").lower(), path.replace("\\", "/")) if windows else (source, path)
        source = source.rstrip("/")
        rest = given[len(source):]
        if (given.lower() if windows else given).startswith(source) and rest[:1] in ("", "/"):
            return target.rstrip("/") + rest
    return path


# ---- preferences: of this user, on this machine ----

def _preferences() -> str:
    return os.path.join(_config_folder(), "preferences.json")


def _read_preferences() -> Dict[str, Any]:
    try:
        with open(_preferences(), encoding="utf-8") as file:
            found = json.load(file)
        return found if isinstance(found, dict) else {}
    except FileNotFoundError:
        return {}
    except ValueError as failed:
        raise Error("usage", "%s is damaged (%s); remove it" % (_preferences(), failed)) from None


def _write_preferences(values: Mapping[str, Any]) -> None:
    os.makedirs(os.path.dirname(_preferences()), mode=0o700, exist_ok=True)
    with _replaced(_preferences()) as file:
        json.dump(values, file, indent=1, sort_keys=True)


def getpreference(name: str, default: Any = None) -> Any:
    """A value that setpreference stored."""
    return _read_preferences().get(name, default)


def setpreference(name: str, value: Any) -> bool:
    """Stores a value of JSON for this user, in the folder of configuration."""
    _write_preferences(dict(_read_preferences(), **{name: value}))
    return True


def deletepreference(name: str) -> bool:
    """Removes a value; False if there was none."""
    values = _read_preferences()
    if name not in values:
        return False
    del values[name]
    _write_preferences(values)
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
    """The numbers as the farm names an item of them: 1-7x3. Two that are no neighbours are a progression only if they are all."""
    runs: List[List[int]] = []  # of first, step and count
    for number in numbers:
        if runs:
            first, step, count = runs[-1]
            gap = number - (first + step * (count - 1))
            if count == 1 or gap == step:
                runs[-1] = [first, gap, count + 1]
                continue
            if count == 2 and abs(step) != 1:
                runs[-1:] = [[first, 1, 1], [first + step, gap, 2]]
                continue
        runs.append([number, 1, 1])
    if len(runs) > 1 and runs[-1][2] == 2 and abs(runs[-1][1]) != 1:
        first, step, _ = runs.pop()
        runs += [[first, 1, 1], [first + step, 1, 1]]
    return ",".join(str(first) if count == 1 else "%d-%d%s" % (first, first + step * (count - 1), "x%d" % abs(step) if abs(step) != 1 else "")
                    for first, step, count in runs)


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
    numbers = rangesplit(text)
    return Agenda([Work(name=str(number)) for number in (binarySort(numbers) if binary else numbers)], **source)


def genchunks(size: int, text: str) -> Agenda:
    """An agenda of items with that many consecutive numbers each."""
    return Agenda([Work(name=part) for part in rangechunk(text, size)], range=str(text), chunk=size)


def genpartitions(count: int, text: str) -> Agenda:
    """An agenda of that many items of nearly equal length."""
    return Agenda([Work(name=part) for part in rangepartition(text, count)], range=str(text), partitions=count)


def binarySort(items: Sequence[Any]) -> List[Any]:
    """The first, the last, the middle one, then the middles of what lies between, as genframes orders with binary=True."""
    order, spans = list(items[:1]) + list(items[-1:] if len(items) > 1 else []), [(0, len(items) - 1)]
    while spans:
        wider = []
        for first, last in spans:
            middle = (first + last) // 2
            if middle > first:
                order.append(items[middle])
                wider += [(first, middle), (middle, last)]
        spans = wider
    return order


def map(function: Union[str, Callable[[Any], Any]], items: Iterable[Any], **options: Any) -> List[Any]:
    """Calls function(item) for each item on the farm and returns the results in order: qb.Client().map, which tells the options."""
    return _farm().map(function, items, **options)


def __getattr__(name: str) -> Any:
    """Says why a function of Qube's is not here."""
    if name in _NOT_TAKEN:
        raise NotTaken(name, _NOT_TAKEN[name])
    raise AttributeError("module qb has no %s" % name)


# ---- what is taken from callers ----

# The exceptions that Python raises for a wrong value. Others, such as KeyboardInterrupt, reach callers unchanged.
_FAULTS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError, OSError)


def _shown(value: Any) -> str:
    """A value in an error. A value that may be large or private is shown by its type."""
    if value is not None and not isinstance(value, (bool, int, float, str, bytes, os.PathLike)):
        return "a " + type(value).__name__
    try:
        text = ascii(value)
    except ValueError:  # a number of thousands of digits
        return "a huge number"
    return text if len(text) <= 80 else text[:77] + "..."


def _taken(value: Any, hint: Any, place: str) -> Any:
    """A value as a function that asks for this type gets it. Raises TypeError, which says what is asked for."""
    origin = typing.get_origin(hint)
    if hint is Any or origin is collections.abc.Callable and callable(value) or hint is type(None) and value is None:
        return value
    if origin is Union:
        wanted = []
        for one in typing.get_args(hint):
            try:
                return _taken(value, one, place)
            except TypeError as error:
                wanted.append(str(error))
        raise TypeError(" or ".join(wanted[:-1] if wanted[-1] == "None" else wanted))
    if hint is str:
        if isinstance(value, (str, bytes, os.PathLike)):
            return _text(value, place)
        raise TypeError("a text")
    if hint is bool and isinstance(value, (bool, int)):
        return value
    if hint is int and isinstance(value, int) or hint is float and isinstance(value, (int, float)) and value == value:
        return value
    if origin is collections.abc.Mapping and isinstance(value, Mapping):
        return value
    if origin in (collections.abc.Sequence, collections.abc.Iterable) and isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        return list(value) if origin is collections.abc.Sequence and not isinstance(value, Sequence) else value
    if inspect.isclass(hint) and isinstance(value, hint):
        return value
    names = {bool: "True or False", int: "a whole number", float: "a number", type(None): "None", collections.abc.Mapping: "a dictionary",
             collections.abc.Sequence: "a list", collections.abc.Iterable: "a list", collections.abc.Callable: "a function"}
    raise TypeError(names.get(origin or hint, getattr(hint, "__name__", "something else")))


def _guarded(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wraps a function so that each failure through a value is a qb.Error: arguments are checked against the annotations, and an
    exception that Python raises within the function names the arguments."""
    signature, hints = inspect.signature(function), {}  # type: Tuple[inspect.Signature, Dict[str, Any]]

    def bound(words: Tuple[Any, ...], named: Mapping[str, Any]) -> inspect.BoundArguments:
        given = signature.bind(*words, **named)
        if not hints:
            hints.update(typing.get_type_hints(function))
        for key, value in given.arguments.items():
            kind = signature.parameters[key].kind
            if key == "self" or kind == inspect.Parameter.VAR_KEYWORD:
                continue
            try:
                place, hint = "%s, %s" % (name, key), hints[key]
                if kind == inspect.Parameter.VAR_POSITIONAL:
                    given.arguments[key] = tuple(_taken(one, hint, place) for one in value)
                else:
                    given.arguments[key] = _taken(value, hint, place)
            except TypeError as error:
                raise Error("usage", "%s: %s is %s; give %s" % (name, key, "a secret of another type" if key == "token" else _shown(value), error)) from None
        return given

    def refusal(given: inspect.BoundArguments, error: BaseException) -> Error:
        told = []
        for key, value in given.arguments.items():
            if key != "self":
                kind = signature.parameters[key].kind
                told += ["%s = %s" % (part, _shown(one)) for part, one in
                         (value.items() if kind == inspect.Parameter.VAR_KEYWORD else [(key, one) for one in value] if kind == inspect.Parameter.VAR_POSITIONAL
                          else [(key, "..." if key == "token" else value)])]
        return Error("usage", "%s: %s cannot be used: %s; help(qb.%s) says what it takes" % (name, _few(told) or "this", error or type(error).__name__, name))

    def pieces(given: inspect.BoundArguments, answer: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from answer
        except Error:
            raise
        except _FAULTS as error:
            raise refusal(given, error) from error

    @functools.wraps(function)
    def guarded(*words: Any, **named: Any) -> Any:
        given = bound(words, named)
        try:
            answer = function(*given.args, **given.kwargs)
        except Error:
            raise
        except _FAULTS as error:
            raise refusal(given, error) from error
        return pieces(given, answer) if inspect.isgenerator(answer) else answer

    return guarded


_unguarded: Dict[str, Callable[..., Any]] = {}  # the functions without the checks, which take longer than a call of no work


def _guard() -> None:
    """Wraps all public functions and methods, so that a new one needs no line of its own."""
    for name, one in list(globals().items()):
        if inspect.isfunction(one) and one.__module__ == __name__ and not name.startswith("_"):
            _unguarded[name] = one
            globals()[name] = _guarded(one, name)
    for kind in (Client, JobHandle):
        for name, one in list(vars(kind).items()):
            if inspect.isfunction(one) and (name == "__init__" or not name.startswith("_")):
                setattr(kind, name, _guarded(one, kind.__name__ if name == "__init__" else "%s.%s" % (kind.__name__, name)))


_guard()


def _main(words: Sequence[str]) -> int:
    if len(words) == 2 and words[0] == "--call":
        return _call(words[1])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
