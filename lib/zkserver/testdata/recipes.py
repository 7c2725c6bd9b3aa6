"""Uses kazoo's recipes on the ZooKeeper at the address given, in one process with several clients."""
import sys
import threading
import uuid

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError, RolledBackError
from kazoo.recipe.partitioner import SetPartitioner

PATIENCE = 20
address = sys.argv[1]
root = "/kazoo-" + uuid.uuid4().hex


def client():
    c = KazooClient(hosts=address, timeout=5)
    c.start(PATIENCE)
    return c


def threads(n, work):
    """Runs work(i, client) n times at once, each with a client of its own."""
    failures = []

    def one(i):
        c = client()
        try:
            work(i, c)
        except BaseException as e:
            failures.append(repr(e))
        finally:
            c.stop()
            c.close()

    running = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in running:
        t.start()
    for t in running:
        t.join(PATIENCE)
        assert not t.is_alive(), "stuck"
    assert not failures, failures


def basics(zk):
    zk.create(root + "/a", b"1", makepath=True)
    try:
        zk.create(root + "/a")
        assert False
    except NodeExistsError:
        pass
    data, stat = zk.get(root + "/a")
    assert data == b"1" and stat.version == 0 and stat.dataLength == 1
    assert zk.set(root + "/a", b"22", version=0).version == 1
    try:
        zk.set(root + "/a", b"3", version=0)
        assert False
    except BadVersionError:
        pass
    path = zk.create(root + "/a/s-", ephemeral=True, sequence=True)
    assert path == root + "/a/s-0000000000"
    path, stat = zk.create(root + "/a/two", b"x", include_data=True)
    assert stat.dataLength == 1
    assert sorted(zk.get_children(root + "/a")) == ["s-0000000000", "two"]
    zk.delete(root + "/a", recursive=True)
    assert zk.exists(root + "/a") is None
    assert zk.sync(root) == root


def transaction(zk):
    t = zk.transaction()
    t.create(root + "/t", b"x")
    t.set_data(root + "/t", b"y", version=0)
    t.check(root + "/t", version=1)
    t.create(root + "/t/c")
    t.delete(root + "/t/c")
    assert t.commit()[0] == root + "/t"
    t = zk.transaction()
    t.create(root + "/u")
    t.delete(root + "/none")
    results = t.commit()
    assert isinstance(results[0], RolledBackError) and isinstance(results[1], NoNodeError), results
    assert zk.exists(root + "/u") is None


def lock(zk):
    inside, total = [], []

    def work(i, c):
        for _ in range(5):
            with c.Lock(root + "/lock", str(i)):
                inside.append(i)
                assert inside == [i], inside
                total.append(i)
                inside.pop()

    threads(4, work)
    assert len(total) == 20


def election(zk):
    leaders = []
    threads(3, lambda i, c: c.Election(root + "/election", str(i)).run(leaders.append, i))
    assert sorted(leaders) == [0, 1, 2]


def barrier(zk):
    arrived = []

    def work(i, c):
        b = c.DoubleBarrier(root + "/barrier", 3)
        b.enter()
        arrived.append(i)
        b.leave()
        assert len(arrived) == 3

    threads(3, work)


def queue(zk):
    q = zk.LockingQueue(root + "/queue")
    for i in range(6):
        q.put(str(i).encode())
    got = []

    def work(i, c):
        mine = c.LockingQueue(root + "/queue")
        for _ in range(3):
            got.append(mine.get(PATIENCE))
            assert mine.consume()

    threads(2, work)
    assert sorted(got) == [str(i).encode() for i in range(6)], got


def counter(zk):
    def work(i, c):
        n = c.Counter(root + "/counter")
        for _ in range(5):
            n += 1

    threads(3, work)
    assert zk.Counter(root + "/counter").value == 15


def party(zk):
    threads(1, lambda i, c: c.Party(root + "/party", "x").join())
    assert len(zk.Party(root + "/party")) == 0  # it left with its session


def semaphore(zk):
    inside = []

    def work(i, c):
        with c.Semaphore(root + "/semaphore", max_leases=2):
            inside.append(i)
            assert len(inside) <= 2
            inside.remove(i)

    threads(4, work)


def watchers(zk):
    seen, children, done = [], [], threading.Event()
    zk.create(root + "/watched", b"0")

    @zk.DataWatch(root + "/watched")
    def changed(data, stat):
        seen.append(data)
        if data is None:
            done.set()
            return False

    @zk.ChildrenWatch(root + "/watched")
    def members(names):
        children.append(sorted(names))

    other = client()
    other.set(root + "/watched", b"1")
    other.create(root + "/watched/c")
    other.delete(root + "/watched/c")
    other.delete(root + "/watched")
    assert done.wait(PATIENCE)
    assert seen[0] == b"0" and seen[-1] is None, seen
    assert children[0] == [], children
    other.stop()
    other.close()


def partitioner(zk):
    shares, everybody = {}, threading.Barrier(2)

    def work(i, c):
        p = SetPartitioner(c, root + "/partitions", set=tuple(range(6)), time_boundary=0.2, identifier=str(i))
        while not p.acquired or len(list(p)) != 3:
            assert not p.failed
            if p.release:
                p.release_set()
            elif p.allocating:
                p.wait_for_acquire(1)
        shares[i] = set(p)
        everybody.wait(PATIENCE)
        p.finish()

    threads(2, work)
    assert shares[0] | shares[1] == set(range(6)) and not shares[0] & shares[1], shares


zk = client()
zk.ensure_path(root)
for part in (basics, transaction, lock, election, barrier, queue, counter, party, semaphore, watchers, partitioner):
    part(zk)
    print(part.__name__, "ok", flush=True)
zk.stop()
zk.close()
print("done")
