"""The examples of docs/proxy.md, as they stand there, with the nginx, HAProxy and Caddy of Debian 12 in front of a real node: requests
arrive, the node hears who they are from whatever the visitor pretends, as Mastodon's nginx does, and WebSockets get through."""

import grp
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TAGRING_BINARY") or ROOT / "build" / "release" / "tagring")
HOST = "tags.example.org"
MASTODON = "social.example.org"
VISITOR = "127.0.0.7"
# What nginx may have in the place of a line, and what the doctor says of it then.
WRONG_LINES = [("a proxy that does not get at the node", r"proxy_pass .*;", "return 502;", "answers: HTTP status 502"),
               ("one that writes another Host", r"proxy_set_header Host .*;", "", "with Host: localhost")]
counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)
    return bool(ok)


def free_port():
    with socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::", 0))
        return probe.getsockname()[1]


def examples():
    """{heading: {language: code}}"""
    found = {}
    for heading, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", (ROOT / "docs/proxy.md").read_text(), re.M | re.S):
        found[heading] = dict(re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S))
    found["Caddy as a reverse proxy"]["toml"] = found["nginx as a reverse proxy"]["toml"]
    found["HAProxy as a forwarder"]["toml"] = found["nginx as a forwarder"]["toml"]
    return found


class Place:
    """A folder, and what stands in the examples as it is here."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.chmod(0o755)
        self.public, self.inner, self.other = free_port(), free_port(), free_port()
        subprocess.run([ROOT / "demo/ca.sh", self.folder / "certs", HOST, MASTODON], check=True)
        self.certificate, self.key = (self.folder / "certs" / f"{HOST}.{end}" for end in ["pem", "key"])
        both = self.folder / "certificates"
        both.mkdir()
        (both / "tags.pem").write_text(self.certificate.read_text() + self.key.read_text())

    def fill(self, text):
        for there, here in [("/run/tagring/http.sock", self.folder / "http.sock"), ("/etc/haproxy/certificates/", f"{self.folder}/certificates/"),
                            (f"/etc/letsencrypt/live/{HOST}/fullchain.pem", self.certificate), (f"/etc/letsencrypt/live/{HOST}/privkey.pem", self.key),
                            ("/etc/tagring/tls/fullchain.pem", self.certificate), ("/etc/tagring/tls/privkey.pem", self.key),
                            ("8443", self.inner), ("8444", self.other)]:
            text = text.replace(there, str(here))
        return re.sub(r"\b443\b", str(self.public), text)

    def write(self, name, text):
        file = self.folder / name
        file.write_text(text)
        return file


def node_command(place, listen):
    data = place.folder / "data"
    return [BINARY, "run", "--json", "--config", place.write("tagring.toml", f"""[node]
host = "{HOST}"
port = {place.public}
address = "127.0.0.1"
data = "{data}"
{listen}
[ring]
create = true
[network]
allow_private_addresses = true
ca_file = "{place.folder}/certs/ca.pem"
[network.hosts]
"{HOST}" = "127.0.0.1"
""")]


def nginx(place, code):
    # Its workers as in Debian, who get at the node's socket by its group; docs/proxy.md makes them members.
    modules = "load_module /usr/lib/nginx/modules/ngx_stream_module.so;" if "stream {" in code else ""
    inner = code if "stream {" in code else f"http {{ access_log off; {code} }}"
    file = place.write("nginx.conf", f"{modules}\ndaemon off;\nuser www-data;\npid {place.folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n{inner}")
    return ["nginx", "-p", place.folder, "-c", file, "-e", "stderr"]


def mastodon(place):
    """Its nginx, with what the document says, and whom it takes for its visitor."""
    lines = re.findall(r"^    (listen 127.*;|set_real_ip_from .*;|real_ip_header .*;)", (ROOT / "docs/proxy.md").read_text(), re.M)
    server = f"{place.fill(' '.join(lines))} ssl_certificate {place.folder}/certs/{MASTODON}.pem; ssl_certificate_key {place.folder}/certs/{MASTODON}.key;"
    file = place.write("mastodon.conf", f"daemon off;\npid {place.folder}/mastodon.pid;\nerror_log stderr;\nevents {{}}\n"
                       f'http {{ access_log off; server {{ {server} location / {{ return 200 "$remote_addr"; }} }} }}')
    return ["nginx", "-p", place.folder, "-c", file, "-e", "stderr"]


def haproxy(place, code):
    mode = "http" if "mode http" in code else "tcp"
    nobody = "" if re.search("^backend mastodon$", code, re.M) else f"\nbackend mastodon\n  mode {mode}\n  server none 127.0.0.1:{place.other}\n"
    return ["haproxy", "-db", "-f", place.write("haproxy.cfg", f"defaults\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n{code}{nobody}")]


def caddy(place, code):
    code = code.replace(f"{HOST} {{", f"https://{HOST}:{place.public} {{\n  tls {place.certificate} {place.key}")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", place.write("Caddyfile", f"{{\n  admin off\n  auto_https off\n}}\n{code}")]


def curl(place, path, *options, host=HOST):
    return subprocess.run(["curl", "-sS", "--http1.1", "--max-time", "20", "--interface", VISITOR, "--cacert", place.folder / "certs/ca.pem",
                           "--resolve", f"{host}:{place.public}:127.0.0.1", *options, f"https://{host}:{place.public}{path}"], capture_output=True, text=True)


def wait_for(condition, processes, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and all(process.poll() is None for process in processes):
        if condition():
            return True
        time.sleep(0.2)
    return False


def doctors_check(place, name):
    done = subprocess.run([BINARY, "doctor", "--json", "--config", place.folder / "tagring.toml"], capture_output=True, text=True)
    return {one["name"]: one for one in json.loads(done.stdout)["checks"]}[name]


def children(process):
    return set(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())


def reload(nginx):
    """Returns when nobody answers with what was read before: nginx's workers of before finish what they have, and accept until they hear of it."""
    before = children(nginx)
    nginx.send_signal(signal.SIGHUP)
    return wait_for(lambda: children(nginx).isdisjoint(before), [nginx])


def looks_at_the_proxys_certificate(name, place, proxy):
    found = doctors_check(place, "certificate")
    check(f"{name}: the doctor has seen the proxy's certificate", found["ok"] and "shows one that others take, until 20" in found["detail"], found)
    if not name.startswith("nginx"):
        return
    right = place.certificate.read_bytes(), place.key.read_bytes()
    subprocess.run([ROOT / "demo/ca.sh", place.folder / "wrong", "other.example"], check=True)
    place.certificate.write_bytes((place.folder / "wrong/other.example.pem").read_bytes())
    place.key.write_bytes((place.folder / "wrong/other.example.key").read_bytes())
    check(f"{name}: it takes another certificate", reload(proxy))
    found = doctors_check(place, "certificate")
    check(f"{name}: the doctor sees one that others refuse", not found["ok"] and HOST in found["what_to_do"], found)
    place.certificate.write_bytes(right[0])
    place.key.write_bytes(right[1])
    check(f"{name}: it takes the right one again", reload(proxy))
    found = doctors_check(place, "certificate")
    check(f"{name}: and the doctor sees that it is mended", found["ok"], found)


def looks_at_what_the_proxy_passes_on(name, place, proxy):
    found = doctors_check(place, "way in")
    check(f"{name}: the doctor has come in through the proxy", found["ok"], found)
    if not name.startswith("nginx"):
        return
    file = place.folder / "nginx.conf"
    right = file.read_text()
    for what, line, instead, says in WRONG_LINES:
        file.write_text(re.sub(line, instead, right))
        check(f"{name}: it takes {what}", file.read_text() != right and reload(proxy))
        found = doctors_check(place, "way in")
        check(f"{name}: the doctor sees {what}", not found["ok"] and says in found["detail"], found)
    file.write_text(right)
    check(f"{name}: it passes on again", reload(proxy))
    found = doctors_check(place, "way in")
    check(f"{name}: and the doctor has come in again", found["ok"], found)


def example(name, parts, place):
    language = next(one for one in parts if one != "toml")
    log = open(place.folder / "log", "w+")
    environment = {"HOME": str(place.folder), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    group = grp.getgrnam("www-data").gr_gid
    node = subprocess.Popen(node_command(place, place.fill(parts["toml"])), stdout=subprocess.PIPE, stderr=log, text=True, group=group)
    processes = [node]
    try:
        if not check(f"{name}: the node starts", "ready" in node.stdout.readline(), (place.folder / "log").read_text()[-1000:]):
            return
        command = {"nginx": nginx, "haproxy": haproxy, "caddy": caddy}[language](place, place.fill(parts[language]))
        processes.append(subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, env=environment))
        arrives = wait_for(lambda: curl(place, "/livez").stdout == "ok\n", processes)
        check(f"{name}: requests arrive", arrives, (place.folder / "log").read_text()[-2000:] + curl(place, "/livez").stderr)
        for what, options in [("a visitor", []), ("one that pretends to be another", ["-H", "X-Forwarded-For: 203.0.113.9"])]:
            done = curl(place, "/tagring/v1/reach", *options)
            you = json.loads(done.stdout or "{}").get("you")
            check(f"{name}: {what} is known by its address", you == VISITOR, (you, done.stderr))
        if "certificate" in parts["toml"] and shutil.which("nginx"):
            processes.append(subprocess.Popen([str(part) for part in mastodon(place)], stdout=log, stderr=log, env=environment))
            arrives = wait_for(lambda: curl(place, "/", host=MASTODON).stdout == VISITOR, processes, seconds=20)
            check(f"{name}: Mastodon knows its visitors by their addresses", arrives, (curl(place, "/", host=MASTODON), (place.folder / "log").read_text()[-1000:]))
        if "certificate" not in parts["toml"]:
            looks_at_the_proxys_certificate(name, place, processes[-1])
            looks_at_what_the_proxy_passes_on(name, place, processes[-1])
        done = curl(place, "/api/v1/streaming?stream=hashtag&tag=caturday", "-i", "-N", "--max-time", "3", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket",
                    "-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        check(f"{name}: a WebSocket gets through", done.stdout.startswith("HTTP/1.1 101"), done.stdout[:300] + done.stderr)
        many = [curl(place, "/tagring/v1/reach", "--interface", f"127.0.0.{last}").stdout for last in range(20, 30)]
        check(f"{name}: each visitor counts alone", len(set(json.loads(answer or "{}").get("you") for answer in many)) == 10, many)
    finally:
        for process in reversed(processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def main():
    tested = 0
    for name, parts in examples().items():
        language = next((one for one in parts if one != "toml"), None)
        if language is None:
            continue
        tested += 1
        if not shutil.which(language):
            print(f"missing: {language}, for {name} (tools/setup installs it)")
            counts[False] += 1
            continue
        if "stream {" in parts[language] and not Path("/usr/lib/nginx/modules/ngx_stream_module.so").exists():
            print(f"missing: libnginx-mod-stream, for {name} (tools/setup installs it)")
            counts[False] += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            example(name, parts, Place(folder))
    check("all examples are tested", tested == 5, tested)
    # Debian's file has 50 s, and each backend may have its own.
    http = [code for parts in examples().values() for code in [parts.get("haproxy", "")] if "mode http" in code]
    check("HAProxy waits for requests of a minute", http and all(re.search(r"timeout server (\d+)s", code) and int(re.search(r"timeout server (\d+)s", code)[1]) > 60 for code in http), http)
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
