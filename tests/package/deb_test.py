"""The Debian package, from `apt install` to purge in a fresh root of Debian 12: what it puts where, the unit's command as its user, an
upgrade, a removal. Writes build/package.json. Needs root and debootstrap."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "app"))
from terminal import on_terminal  # noqa: E402
from upgrade_test import POSTS, migrations, write_version_1  # noqa: E402

BASE = ROOT / "build" / "package" / "debian12.tar"
HOST = "tags.example.org"
counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}", flush=True)
    return bool(ok)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900, **options)


def readme(beginning):
    """The words behind sudo of the command in README.md that begins so."""
    found, = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith(f"    {beginning}")]
    return found.partition("  #")[0].split()[1:]


def base_root():
    """A small Debian as an archive, made once."""
    if not BASE.exists():
        BASE.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            made = run("debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", folder)
            if made.returncode != 0:
                return made.stdout[-2000:]
            subprocess.run(["tar", "-C", folder, "-cf", f"{BASE}.part", "."], check=True)
        os.rename(f"{BASE}.part", BASE)
    return None


class Machine:
    """That Debian, unpacked."""

    def __init__(self, folder):
        self.folder = Path(folder)
        subprocess.run(["tar", "-C", folder, "-xf", BASE], check=True)
        self.folder.chmod(0o755)  # of / there: others than root may enter
        shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
        self.apt("update")

    def run(self, *command, user=None, has_proc=False, **options):
        as_user = [f"--userspec={user}"] if user else []
        # In a namespace of mounts of its own, so that none is left whatever happens.
        mounting = ["unshare", "--mount", "sh", "-c", 'mount --rbind /proc "$0/proc" && exec "$@"', self.folder] if has_proc else []
        return run(*mounting, "chroot", *as_user, self.folder, *command, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/"}, **options)

    def apt(self, *arguments, **options):
        return self.run("apt-get", "-o", "Acquire::Check-Date=false", "-o", "Acquire::Check-Valid-Until=false", "-y", "--no-install-recommends", *arguments, **options)

    def install(self, package):
        shutil.copy(package, self.folder / "tmp")
        _, *words, _ = readme("sudo apt install")
        return self.apt(*words, f"/tmp/{package.name}")

    def path(self, name):
        return self.folder / name.lstrip("/")

    def owner(self, name):
        return self.run("stat", "-c", "%U:%G %a", name).stdout.strip()

    def left_over(self):
        found = self.run("find", "/", "-xdev", "(", "-name", "*tagring*", ")", "-not", "-path", "/proc/*", "-not", "-path", "/tmp/*").stdout.split()
        users = [line for file in ["etc/passwd", "etc/group"] for line in self.path(file).read_text().splitlines() if line.startswith("tagring:")]
        return found + users


def sources_before(folder):
    """As they were before the scripts of the package were changed last, so that an upgrade goes from other ones to these."""
    changed = run("git", "-C", ROOT, "log", "-1", "--format=%H", "--", "packaging/debian").stdout.strip() if shutil.which("git") else ""
    packed = subprocess.run(["git", "-C", ROOT, "archive", f"{changed}^"], capture_output=True, timeout=60) if changed else None
    if not packed or packed.returncode != 0:
        print("skipped: without git's history the version before is this one under another number")
        return ROOT
    folder.mkdir()
    subprocess.run(["tar", "-C", folder, "-x"], input=packed.stdout, check=True)
    return folder


def packages(folder):
    """The version before, with this program, and this one; each built twice."""
    built = []
    for sources, version in [(sources_before(folder / "before"), ["--version", "0.0.9"]), (ROOT, [])]:
        first, again = (run(sources / "tools/deb", *version, "--binary", ROOT / "build/release/tagring", "--into", folder / name) for name in ["first", "again"])
        if not check("the package is built", first.returncode == again.returncode == 0, first.stderr + again.stderr):
            return None
        paths = [Path(done.stdout.strip()) for done in [first, again]]
        check("the same bytes each time", *[len({hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}) == 1])
        built.append(paths[0])
    scripts = [{name: run("dpkg-deb", "--info", package, name).stdout for name in SCRIPTS} for package in built]
    check("the one before has other scripts, where there is git", scripts[0] != scripts[1] or not (folder / "before").exists(), scripts)
    return built


SCRIPTS = ["postinst", "prerm", "postrm", "templates"]
UNITS = ["tagring.service", "tagring-core@.service", "tagring-front@.service"]
SOCKET = "tagring.socket"


def security_score():
    """Of the one that is called least safe."""
    done = [run("systemd-analyze", "security", "--offline=true", ROOT / "packaging" / unit) for unit in UNITS]
    found = [re.search(r"exposure level for \S+: ([\d.]+)", one.stdout) for one in done]
    return max(float(score[1]) for score in found) if all(found) else None


def units_are_alike():
    """Those of several processes are as safe as that of one, but for what differs by its nature."""
    def lines(unit):
        service = (ROOT / "packaging" / unit).read_text().partition("[Service]\n")[2]
        return {line for line in service.splitlines() if "=" in line and not line.startswith(("#", "Exec", "StateDirectory"))}

    for unit in UNITS[1:]:
        check(f"{unit} is as hardened", lines(unit) == lines(UNITS[0]) and len(lines(unit)) > 30, lines(unit) ^ lines(UNITS[0]))


def units_are_understood():
    """By systemd, which says of each word that it does not know."""
    with tempfile.TemporaryDirectory() as folder:
        for unit in [*UNITS, SOCKET]:  # the socket after its service, which has to be there
            file = Path(folder) / unit
            file.write_text((ROOT / "packaging" / unit).read_text().replace("/usr/bin/tagring", "/bin/true"))
            done = run("systemd-analyze", "verify", "--man=no", file)
            check(f"systemd takes {unit}", done.returncode == 0 and not done.stderr, done.stderr)


def is_enabled(machine):
    """Offline, and so without --now: no systemd runs there. It comes this late since the package has to do without what it brings along, and the
    doctor would miss the port of the socket where nodes run that are started by hand."""
    done = machine.apt("install", "systemd", has_proc=True)  # without /proc its own tools fail while it is installed
    check("systemd is installed", done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:])
    command = readme("sudo systemctl enable")
    check("README has it start at once", "--now" in command, command)
    done = machine.run(*[word for word in command if word != "--now"], has_proc=True)
    check("systemd enables what README does", done.returncode == 0, done.stdout + done.stderr)
    for unit, target in [(SOCKET, "sockets.target"), ("tagring.service", "multi-user.target")]:
        link = machine.path(f"/etc/systemd/system/{target}.wants/{unit}")
        check(f"{target} starts {unit}", link.is_symlink() and machine.run("test", "-f", f"/etc/systemd/system/{target}.wants/{unit}").returncode == 0, done.stdout + done.stderr)


def instances_are_told_where(machine):
    """What the templates run for an instance, in the program's own words: it takes the place, and misses what else is needed."""
    for unit, place in [("tagring-core@.service", "10.0.0.5:7946"), ("tagring-front@.service", "[2001:db8::1]:7946")]:
        file = machine.path(f"/lib/systemd/system/{unit}")
        command = re.search(r"^ExecStart=(.*)$", file.read_text(), re.M)[1].replace("%I", place).split()
        done = machine.run(*command, user="tagring:tagring")
        check(f"{unit} starts what there is", done.returncode == 2 and "database.postgres is missing" in done.stderr, done.stderr)


def is_installed_well(machine):
    check("the user is one of the system", 0 < int(machine.run("id", "-u", "tagring").stdout or 0) < 1000)
    check("nobody else gets at the data", machine.owner("/var/lib/tagring") == "tagring:tagring 700", machine.owner("/var/lib/tagring"))
    check("the configuration is there, for its group", machine.owner("/etc/tagring/tagring.toml") == "root:tagring 640", machine.owner("/etc/tagring/tagring.toml"))
    for name in [*(f"/lib/systemd/system/{unit}" for unit in [*UNITS, SOCKET]), "/usr/share/man/man1/tagring-doctor.1.gz",
                 "/usr/share/man/man1/tagring-instance-allow.1.gz", "/usr/share/bash-completion/completions/tagring",
                 "/usr/share/zsh/vendor-completions/_tagring", "/usr/share/fish/vendor_completions.d/tagring.fish", "/usr/share/tagring/certbot-hook"]:
        check(f"{name} is there", machine.path(name).is_file())
    for words, offered in [("instance al", "allow"), ("sh", "show"), ("show qu", "queues"), ("run --role c", "core"), ("login --role m", "moderate"), ("restore text.db --c", "--config"),
                           ("instance replay social.example cats --max-a", "--max-age"), ("--v", "--version"), ("restore te", ""), ("audit --verify e", ""), ("setup --data ", ""), ("block add do", "domain")]:
        typed = " ".join(f"'{word}'" for word in words.split(" "))
        done = run("bash", "-c", f'source {machine.path("/usr/share/bash-completion/completions/tagring")}; COMP_WORDS=(tagring {typed}); COMP_CWORD={len(words.split(" "))}; _tagring; echo "${{COMPREPLY[@]}}"; complete -p tagring')
        found, how = done.stdout.split("\n", 1)
        check(f"completion of {words}", found == offered and not done.stderr, done.stdout + done.stderr)
        check("and of files elsewhere", "-o default" in how, how)
    check("nothing in it tells where it was built", str(ROOT).encode() not in machine.path("/usr/bin/tagring").read_bytes())
    check("the binary is stripped", b".symtab" not in machine.path("/usr/bin/tagring").read_bytes()[-8192:])
    unset = machine.run("tagring", "doctor", "--json", "--config", "/etc/tagring/tagring.toml")
    check("without a configuration it says what to do", unset.returncode == 1 and "tagring setup" in unset.stdout, unset.stdout + unset.stderr)


def zsh_completes(machine):
    done = machine.apt("install", "zsh")
    check("zsh is installed", done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:])
    _, seen = on_terminal("timeout", "--foreground", "60", "chroot", machine.folder, "zsh", "-f", TERM="dumb",
                          typed="autoload -U compinit && compinit -u -D\ntagring instance al\t\nexit\n")
    check("zsh completes the first time that somebody asks", "tagring instance allow" in seen, seen)


def documents_lead_somewhere(machine):
    folder = machine.path("/usr/share/doc/tagring")
    links = [(document, link) for document in folder.rglob("*.md") for link in re.findall(r"\]\(([^)#\s]+)", document.read_text()) if "://" not in link]
    check("the documents lead to others", len(links) > 50, len(links))
    dead = [(str(document.relative_to(folder)), link) for document, link in links if not (document.parent / link).exists()]
    check("and each of these is there", not dead, dead)
    named = re.findall(r"/usr/share/doc/tagring/\S*\w", machine.path("/usr/share/tagring/tagring.toml").read_text())
    check("so is what the first configuration names", named and all(machine.path(name).is_file() for name in named), named)


def purge_asks(machine, package):
    """With dpkg alone, which asks nothing before the package is there, unlike apt where it has apt-utils."""
    question = "Remove the data of the node, and its key, too?"
    for what, answer, typed, is_kept in [("without an answer", None, None, True), ("when the answer is no", "false", None, True), ("when the answer is yes", "true", None, False),
                                         ("when somebody types no", None, "no\n", True), ("when somebody types yes", None, "yes\n", False)]:
        done = machine.run("dpkg", "-i", f"/tmp/{package.name}")
        check("dpkg installs it", done.returncode == 0, done.stderr)
        check("and it says what comes next", "systemctl enable --now tagring.socket tagring" in done.stderr, done.stderr)
        database = machine.path("/var/lib/tagring/tagring.db")
        database.write_text("the key")
        if answer:
            machine.run("debconf-set-selections", input=f"tagring tagring/purge-data boolean {answer}\n")
        how = ["env", "DEBIAN_FRONTEND=teletype"] if typed else []
        done = machine.run(*how, "dpkg", "--purge", "tagring", input=typed)
        check(f"a purge {what} asks {'once' if typed else 'nobody'}", done.stdout.count(question) == bool(typed), done.stdout)
        check(f"a purge {what} {'keeps' if is_kept else 'removes'} the data", done.returncode == 0 and database.exists() == is_kept, done.stderr)
        check(f"a purge {what}: the user that they belong to", ("tagring:" in machine.path("/etc/passwd").read_text()) == is_kept)
        check(f"a purge {what} says so", ("/var/lib/tagring was kept" in done.stderr) == is_kept, done.stderr)


def image_can_be_made(package):
    """The lines of the Containerfile, in a fresh Debian, as an engine goes through them."""
    text = (ROOT / "packaging/Containerfile").read_text()
    check("what Podman is told to build has the HEALTHCHECK", "podman build --format docker " in text and "podman build -t" not in text, text)
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    steps = {}
    for word, rest in lines:
        steps.setdefault(word, []).append(rest)
    check("it begins with the Debian that the package is for", steps["FROM"] == ["docker.io/library/debian:12-slim"], steps["FROM"])
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        machine = Machine(folder)
        machine.path("/etc/apt/apt.conf.d/99clock").write_text('Acquire::Check-Date "false";\nAcquire::Check-Valid-Until "false";\n')
        pattern, target = steps["COPY"][0].split()
        check("the package is what it copies", package.match(pattern), (package.name, pattern))
        shutil.copy(package, machine.path(target))
        for command in steps["RUN"]:
            done = machine.run("sh", "-c", command)
            check(f"RUN {command[:40]} …", done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:])
        user = steps["USER"][0]
        check("nothing is left of the package but what it installs", not list(machine.path("/tmp").glob("*.deb")) and not list(machine.path("/var/lib/apt/lists").glob("*Packages*")))
        check("the user is there, and the volume is theirs", machine.owner(steps["VOLUME"][0]).startswith(f"{user}:"), machine.owner(steps["VOLUME"][0]))
        command = [*json.loads(steps["ENTRYPOINT"][0]), *json.loads(steps["CMD"][0])]
        done = machine.run(*command, user=f"{user}:{user}")
        check("what it runs asks for a configuration", done.returncode == 2 and "/etc/tagring/tagring.toml" in done.stderr, (done.returncode, done.stderr))
        health = json.loads(steps["HEALTHCHECK"][0].partition("CMD ")[2])
        check("what looks after it is there", machine.run(*health, user=f"{user}:{user}").returncode in [1, 2])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def set_up(machine):
    subprocess.run([ROOT / "demo" / "ca.sh", machine.path("/etc/tagring/tls"), HOST], check=True)
    lineage = machine.path("/root/lineage")
    lineage.mkdir()
    for ours, theirs in [(f"{HOST}.pem", "fullchain.pem"), (f"{HOST}.key", "privkey.pem")]:
        shutil.copy(machine.path("/etc/tagring/tls") / ours, lineage / theirs)
    hook = machine.run("sh", "-c", "RENEWED_LINEAGE=/root/lineage /usr/share/tagring/certbot-hook")
    check("certbot's hook hands the certificate over", hook.returncode == 0 and machine.owner("/etc/tagring/tls/privkey.pem") == "root:tagring 640", hook.stderr)
    done = machine.run(*readme("sudo tagring setup"), "--host", HOST, "--address", "2001:db8::1", "--instance", "example.org", "--create",
                       "--certificate", "/etc/tagring/tls/fullchain.pem", "--key", "/etc/tagring/tls/privkey.pem")
    check("setup takes the place of what the package put there", done.returncode == 0, done.stderr)
    check("the node may read what it wrote", machine.owner("/etc/tagring/tagring.toml") == "root:tagring 640", machine.owner("/etc/tagring/tagring.toml"))
    file = machine.path("/etc/tagring/tagring.toml")
    written = file.read_text()
    for address, owner, mode in [("2001:db8::2", "tagring:tagring", "600"), ("2001:db8::3", "root:root", "644"), ("2001:db8::4", "root:tagring", "640")]:
        machine.run("chown", owner, "/etc/tagring/tagring.toml")
        machine.run("chmod", mode, "/etc/tagring/tagring.toml")
        done = machine.run("tagring", "setup", "--change-address", address)
        now = machine.owner("/etc/tagring/tagring.toml")
        check(f"a file of {owner} {mode} stays theirs with another address", done.returncode == 0 and address in file.read_text() and now == f"{owner} {mode}", (done.stderr, now))
    file.write_text(written)
    machine.path("/etc/tagring/tls/ca.pem").chmod(0o644)
    port = free_port()
    here = file.read_text().replace('address = "2001:db8::1"', 'address = "127.0.0.1"')  # setup takes none that the world cannot reach
    file.write_text(here.replace("[listen]\n", f"[listen]\nport = {port}\n") +
                    f'\n[network]\nallow_private_addresses = true\nca_file = "/etc/tagring/tls/ca.pem"\n[network.hosts]\n"{HOST}" = "127.0.0.1"\n')


class Running:
    """The command of the unit, as its user, told by systemd's means that it is ready, and twice that it is well."""

    def __init__(self, machine):
        self.machine = machine

    def __enter__(self):
        unit = self.machine.path("/lib/systemd/system/tagring.service").read_text()
        self.command = re.search(r"^ExecStart=(.*)$", unit, re.M)[1].split()
        path = self.machine.path("/var/lib/tagring/notify")
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(str(path))
            path.chmod(0o777)
            notify.settimeout(60)
            self.process = subprocess.Popen(["/usr/sbin/chroot", "--userspec=tagring:tagring", self.machine.folder, *self.command], stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": "/var/lib/tagring/notify", "WATCHDOG_USEC": "3000000"})
            told = []
            deadline = time.monotonic() + 60  # of an upgrade of the database, too
            try:
                while time.monotonic() < deadline and not ("READY=1" in told and told.count("WATCHDOG=1") > 1):
                    told += notify.recv(1000).decode().splitlines()
                self.state = "\n".join(told)
            except TimeoutError:
                self.process.kill()
                self.state = self.process.communicate()[1][-2000:]
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.machine.path("/var/lib/tagring/notify").unlink(missing_ok=True)

    def is_ready(self):
        return "READY=1" in self.state.splitlines()

    def is_watched(self):
        return self.state.splitlines().count("WATCHDOG=1") > 1

    def ask(self, *arguments):
        done = self.machine.run("tagring", *arguments, "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def start_and_subscribe(machine):
    key = machine.path("/etc/tagring/tls/privkey.pem")
    key.chmod(0o600)
    checks = {one["name"]: one for one in json.loads(machine.run("tagring", "doctor", "--json").stdout)["checks"]}
    check("the doctor of root sees what the node may not read", "tagring may not read /etc/tagring/tls/privkey.pem" == checks.get("readable", {}).get("detail"), checks)
    key.chmod(0o640)
    checks = {one["name"]: one for one in json.loads(machine.run("tagring", "doctor", "--json").stdout)["checks"]}
    check("and nothing where it may", "readable" not in checks, checks)
    with Running(machine) as node:
        if not check("the unit's command runs as its user, and says that it is ready", node.is_ready(), node.state):
            return
        check("the watchdog hears that it is well", node.is_watched(), node.state)
        check("--config is found by itself", node.ask("subscribe", "hedgehog").get("subscribed") == ["hedgehog"])
        stranger = machine.run("tagring", "status", user="nobody:nogroup")
        check("others are told why they may not", stranger.returncode == 1 and "sudo tagring" in stranger.stderr and "setup" not in stranger.stderr, stranger.stderr)
        deadline = time.monotonic() + 60
        report = {}
        while time.monotonic() < deadline and not report.get("ok"):
            report = json.loads(machine.run(*readme("sudo tagring doctor"), "--json").stdout)
            time.sleep(1)
        check("doctor is content", report.get("ok"), [one for one in report.get("checks", []) if not one["ok"]])


def is_backed_up(machine):
    """Where the runbook says: root may write there, and the node may not."""
    copy = machine.path("/var/backups/tagring.db")
    check("the node itself may not write there", machine.owner("/var/backups") == "root:root 755", machine.owner("/var/backups"))
    with Running(machine) as node:
        answer = node.ask("backup", "/var/backups/tagring.db")
        check("root makes a backup where the node may not write", answer.get("file") == "/var/backups/tagring.db" and copy.exists(), answer)
        check("it is root's alone", machine.owner("/var/backups/tagring.db") == "root:root 600", machine.owner("/var/backups/tagring.db"))
        rehearsed = node.ask("upgrade", "--dry-run", "/var/backups/tagring.db")
        check("an upgrade of it is rehearsed", rehearsed.get("dry_run") is True, rehearsed)
    done = machine.run("tagring", "restore", "/var/backups/tagring.db")
    copy.unlink()
    check("root restores it", done.returncode == 0, done.stderr)
    check("and it is the node's", machine.owner("/var/lib/tagring/tagring.db") == "tagring:tagring 600", machine.owner("/var/lib/tagring/tagring.db"))
    machine.run("chown", "root:root", "/var/lib/tagring")
    report = json.loads(machine.run("tagring", "doctor", "--json").stdout)
    what_to_do = {one["name"]: one for one in report["checks"]}["permissions"].get("what_to_do", "")
    check("doctor sees that the node's user may not write to a folder of root", "chown tagring: /var/lib/tagring" in what_to_do, what_to_do)
    machine.run("chown", "tagring:tagring", "/var/lib/tagring")


def identity(machine):
    """What the node wants, and its key."""
    with sqlite3.connect(machine.path("/var/lib/tagring/tagring.db")) as database:
        return database.execute("SELECT tag, reason FROM wants").fetchall(), database.execute("SELECT name, value FROM meta WHERE name = 'key'").fetchall()


def go_back_to_the_first_version(machine):
    """The database as the first version would have left it, of the same node."""
    wants, key = identity(machine)
    file = machine.path("/var/lib/tagring/tagring.db")
    file.unlink()
    write_version_1(file)
    with sqlite3.connect(file) as database:
        database.executemany("INSERT INTO wants VALUES(?, ?)", wants)
        database.executemany("INSERT INTO meta VALUES(?, ?)", key)
    database.close()
    for name in file.parent.glob("tagring.db*"):
        machine.run("chown", "tagring:tagring", f"/var/lib/tagring/{name.name}")
    file.chmod(0o600)
    return wants, key


def tells_of_what_it_is_made(machine):
    built_with = dict(line.split() for line in machine.path("/usr/share/doc/tagring/built-with").read_text().splitlines())
    boost = run("dpkg-query", "--show", "--showformat=${Version}", "libboost1.81-dev").stdout
    check("it tells of what it was built, in which versions", len(built_with) > 20 and built_with["libboost1.81-dev"] == boost, built_with)
    rights = machine.path("/usr/share/doc/tagring/copyright").read_text()
    for part in json.loads((ROOT / "ui/package.json").read_text())["dependencies"]:
        check(f"it tells of whom {part} in the page is", part in rights.lower(), rights)
    check("and the list of public suffixes", "public_suffix_list.dat" in rights and machine.path("/usr/share/common-licenses/MPL-2.0").exists(), rights)


def is_upgraded(machine, before):
    with sqlite3.connect(machine.path("/var/lib/tagring/tagring.db")) as database:
        version, = database.execute("SELECT max(version) FROM migrations").fetchone()
        posts, = database.execute("SELECT count(*) FROM history").fetchone()
    ok = check("a database of the first version is brought to this one", version == max(migrations()) > 1, version)
    return check("with all that it had, and the node's key", posts == POSTS and identity(machine) == before, (posts, before[0])) and ok


def keeps_what_it_had(machine, configuration):
    ok = check("an upgrade keeps the configuration", machine.path("/etc/tagring/tagring.toml").read_text() == configuration)
    with Running(machine) as node:
        answer = json.dumps(node.ask("show", "subscriptions"))
        return check("and the data", node.is_ready() and "hedgehog" in answer, (node.state, answer)) and ok


def main():
    if not shutil.which("debootstrap"):
        print("missing: debootstrap (tools/setup installs it)\n0 passed, 1 failed")
        sys.exit(1)
    if os.geteuid() != 0:
        print("skipped: a fresh Debian needs root")
        print("0 passed, 0 failed")
        return
    trouble = base_root()
    if trouble:
        print(f"skipped: no fresh Debian: {trouble.splitlines()[-1]}")
        print("0 passed, 0 failed")
        return
    score = security_score()
    check("systemd calls the units safe", score is not None and score <= 2.0, score)
    units_are_alike()
    units_are_understood()
    figures = {"security_score": score, "upgrade_ok": False, "purge_clean": False}
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as temporary:
        built = packages(Path(temporary))
        if built:
            before, now = built
            check("README installs what is built", Path(readme("sudo apt install")[-1]).name == now.name, now.name)
            figures["deb_bytes"] = now.stat().st_size
            root = Path(temporary) / "root"
            root.mkdir()
            machine = Machine(root)
            started = time.monotonic()
            done = machine.install(before)
            figures["install_seconds"] = round(time.monotonic() - started, 1)
            if check("apt installs it", done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]):
                is_installed_well(machine)
                documents_lead_somewhere(machine)
                set_up(machine)
                instances_are_told_where(machine)
                start_and_subscribe(machine)
                is_backed_up(machine)
                configuration = machine.path("/etc/tagring/tagring.toml").read_text()
                older = go_back_to_the_first_version(machine)
                done = machine.install(now)
                check("apt upgrades it", done.returncode == 0, done.stderr[-2000:])
                figures["upgrade_ok"] = keeps_what_it_had(machine, configuration) and is_upgraded(machine, older) and done.returncode == 0
                tells_of_what_it_is_made(machine)
                is_enabled(machine)
                zsh_completes(machine)
                machine.run("debconf-set-selections", input="tagring tagring/purge-data boolean true\n")
                done = machine.apt("remove", "tagring", has_proc=True)  # which has systemctl take back its links
                check("a removal keeps the data", done.returncode == 0 and machine.path("/var/lib/tagring/tagring.db").exists(), done.stderr)
                done = machine.apt("purge", "tagring")
                figures["purge_clean"] = check("a purge leaves nothing", done.returncode == 0 and not machine.left_over(), (done.stderr[-500:], machine.left_over()))
                purge_asks(machine, now)
                image_can_be_made(now)
    (ROOT / "build" / "package.json").write_text(json.dumps(figures) + "\n")
    print(json.dumps(figures))
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(1 if counts[False] else 0)


main()
