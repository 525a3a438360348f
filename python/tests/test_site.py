"""Sites and relay of a federation inside another framework, attacked without the framework."""

import copy
import hashlib
import hmac
import json
import os
import pickle
import random
import signal
import threading
import time

import numpy as np
import pytest

import tacet
from tacet import key_files
from tacet.outcome import Outcome
from tacet.relay import Relay
from tacet.requests import APPLY, SEAL, UNMASK, answer, receive, reply_fields
from tacet.secagg import Aggregator, AttemptId, EpochKey, MemberKey
from tacet.site import Site, enrol
from tacet.terms import Terms

INITIAL = [np.zeros((2, 3), np.float32), np.zeros(4, np.float32)]
OPTIONS = {"rounds": 2, "noise_multiplier": 2, "min_participants": 3, "spare_attempts": 2}


class Sites:
    """Four sites and a server that passes on what it is given."""

    def __init__(self, folder, **more):
        self.folder = folder / "sites"
        self.terms = enrol(self.folder, INITIAL, sites=4, **(OPTIONS | more))
        self.sites = [self.open(number) for number in range(4)]
        self.relay = Relay(self.terms)
        self.lost_requests = set()  # (stage, number)
        self.lost_answers = set()

    def open(self, number):
        return Site(self.folder / f"site-{number}", key_file=self.folder / "unlock.key")

    def seal(self, number, attempt=0, change=0.1):
        site = self.sites[number]
        trained = [tensor + change for tensor in site.model]
        return site.seal(attempt, site.model_digest, trained)

    def fields(self, number, attempt=0):
        """What a site answers to a request to seal."""
        return reply_fields(self.sites[number], upload=self.seal(number, attempt).upload)

    def closed(self, members, uploads=None, attempt=0):
        """Closed round and roster over these members, as any server can make them."""
        digest = self.sites[members[0]].model_digest
        server = Aggregator(self.terms.agreement, AttemptId(0, attempt, model_digest=digest))
        for member in members:
            upload = (uploads or {}).get(member) or self.sites[member].upload_of(attempt)
            server.submit(member, upload)
        return server.close()

    def send(self, requests):
        answers = {}
        for number, fields in requests.items():
            if (fields["stage"], number) in self.lost_requests:
                continue
            site = self.sites[number]
            try:
                request = receive(site, fields)
                if request.stage == SEAL:
                    stored = site.upload_of(request.attempt)
                    answers[number] = (
                        self.fields(number, request.attempt)
                        if stored is None
                        else reply_fields(site, upload=stored)
                    )
                else:
                    answers[number] = answer(site, request, fields)
            except tacet.TacetError as error:
                answers[number] = f"refused: {error}"
            if (fields["stage"], number) in self.lost_answers:
                answers[number] = "timeout"  # as NVFLARE; Flower has no answer then
        return answers

    def run_round(self, *, send=None):
        """One round of a framework."""
        send = send or self.send
        self.relay.begin(send, range(4))
        try:
            self.relay.complete(send, self.relay.collect(send, range(4)), range(4))
        except tacet.UnavailableError as error:
            self.relay.fail()
            self.relay.failures.append(str(error))

    def restart(self):
        """Start the server's process again, with its folder."""
        self.relay = Relay(self.terms, folder=self.folder / "relay")

    def assert_trained(self, rounds, charged=None):
        models = [np.concatenate([t.ravel() for t in site.model]) for site in self.sites]
        assert all((model == models[0]).all() for model in models)
        assert [site.round for site in self.sites] == [rounds] * 4
        assert self.relay.round == rounds
        assert [site.charged_attempts for site in self.sites] == [charged or rounds] * 4

    def outcome(self, number=0):
        for site in range(4):
            self.seal(site, number)
        closed_round, roster = self.closed(range(4), attempt=number)
        votes = [site.vote(number, closed_round, roster, acknowledged=True) for site in self.sites]
        shares = [site.unmask(number, votes) for site in self.sites]
        attempt = AttemptId(0, number, model_digest=self.sites[0].model_digest)
        return Outcome(attempt, closed_round, tuple(votes), tuple(shares)).to_bytes()


@pytest.fixture
def sites(tmp_path):
    return Sites(tmp_path)


def test_two_rounds(sites):
    for finished in (1, 2):
        sites.relay.begin(sites.send, range(4))
        uploads = sites.relay.collect(sites.send, range(4))
        sites.relay.complete(sites.send, uploads, range(4))
        assert sites.relay.failures == []
        assert [site.round for site in sites.sites] == [finished] * 4
    models = [np.concatenate([t.ravel() for t in site.model]) for site in sites.sites]
    assert all((model == models[0]).all() for model in models)
    assert models[0].any()
    assert sites.sites[0].apply(sites.relay.outcomes) == 2  # again changes nothing
    assert (np.concatenate([t.ravel() for t in sites.sites[0].model]) == models[0]).all()
    assert 0 < sites.sites[0].epsilon < np.inf
    with pytest.raises(tacet.BudgetError, match="all 2 agreed rounds are done"):
        sites.relay.begin(sites.send, range(4))


def test_no_key_is_on_the_disk_in_the_clear(tmp_path):
    key, epoch_key = MemberKey.generate(), EpochKey.generate()
    key_files.make_key_file(tmp_path / "unlock")
    key_files.write_member_key(tmp_path / "a", key, key_file=tmp_path / "unlock")
    key_files.write_epoch_key(tmp_path / "b", epoch_key, passphrase="correct horse battery")
    for secret, name in ((key.expose_secret(), "a"), (epoch_key.expose_secret(), "b")):
        content = (tmp_path / name).read_bytes()
        assert not any(bytes(secret[i : i + 8]) in content for i in range(len(secret) - 8))
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    again = key_files.read_epoch_key(tmp_path / "b", passphrase="correct horse battery")
    assert again.expose_secret() == epoch_key.expose_secret()
    with pytest.raises(tacet.TacetError, match="passphrase"):
        key_files.read_epoch_key(tmp_path / "b", passphrase="another passphrase")
    assert (
        key_files.read_member_key(tmp_path / "a", key_file=tmp_path / "unlock").expose_secret()
        == key.expose_secret()
    )
    with pytest.raises(ValueError, match="choose one of 12 or more"):
        key_files.write_epoch_key(tmp_path / "c", epoch_key, passphrase="short")
    with pytest.raises(tacet.AlreadyExistsError):
        key_files.make_key_file(tmp_path / "unlock")
    # One file does not replace another: the purpose is bound.
    with pytest.raises(tacet.TacetError):
        key_files.read_epoch_key(tmp_path / "a", key_file=tmp_path / "unlock")


@pytest.mark.parametrize("name", ["unlock.key", "site-0/member.key", "site-0/epoch.key"])
def test_a_key_that_others_can_read_or_that_was_altered_is_refused(sites, name):
    path = sites.folder / name
    path.chmod(0o644)
    with pytest.raises(tacet.FailedPreconditionError, match="chmod 600"):
        sites.open(0)
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(tacet.TacetError):
        sites.open(0)


def test_terms_are_accepted_by_digest_only(tmp_path):
    key_file = tmp_path / "unlock.key"
    keys = [Site.create(tmp_path / str(i), key_file=key_file) for i in range(3)]
    options = OPTIONS | {"min_participants": 2}
    epoch_key = EpochKey.generate()
    options |= {"epoch_key": epoch_key}
    agreed = Terms.for_model(INITIAL, members=keys, **options)
    # The server hands out terms with a member of its own, or with less noise.
    others = [*keys[:2], MemberKey.generate().public_key]
    stranger = Terms.for_model(INITIAL, members=others, **options)
    weaker = Terms.for_model(INITIAL, members=keys, **(options | {"noise_multiplier": 1.5}))

    def join(terms, **more):
        terms.save(tmp_path / "terms.json")
        arguments = {"digest": agreed.digest, "epoch_key": epoch_key, "initial": INITIAL}
        return Site.join(
            tmp_path / "2", tmp_path / "terms.json", key_file=key_file, **(arguments | more)
        )

    for other in (stranger, weaker):
        with pytest.raises(tacet.InvalidArgumentError, match="the members agreed on"):
            join(other)
    with pytest.raises(tacet.InvalidArgumentError, match="do not name the keys"):
        join(stranger, digest=stranger.digest)
    with pytest.raises(tacet.InvalidArgumentError, match="initial model"):
        join(agreed, initial=[tensor + 1 for tensor in INITIAL])
    with pytest.raises(tacet.InvalidArgumentError, match="or the epoch key, is not the one"):
        join(agreed, epoch_key=EpochKey.generate())
    with pytest.raises(tacet.NotFoundError, match="has joined"):
        Site(tmp_path / "2", key_file=key_file)
    assert join(agreed).member == 2
    with pytest.raises(tacet.AlreadyExistsError, match="new folder"):
        join(agreed)


def byte_strings(value):
    """All byte strings in a message, and the bytes of its texts."""
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, str):
        yield value.encode()
    elif isinstance(value, dict):
        for item in value.values():
            yield from byte_strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from byte_strings(item)


def test_no_message_confirms_a_guess_of_a_model(tmp_path):
    """A server hashes guesses of models, and looks for them in all that it holds."""
    sites = Sites(tmp_path)
    sites.relay = Relay(sites.terms, folder=sites.folder / "relay")
    heard = [(sites.folder / "terms.json").read_bytes()]
    models = [sites.sites[0].model]

    def listening(requests):
        answers = sites.send(requests)
        heard.extend([*byte_strings(requests), *byte_strings(answers)])
        return answers

    for _ in range(2):
        sites.run_round(send=listening)
        models.append(sites.sites[0].model)
    sites.assert_trained(2)
    heard += [path.read_bytes() for path in (sites.folder / "relay").rglob("*") if path.is_file()]
    held = b"\0".join(heard)
    assert sites.sites[0].model_digest in held
    for tensors in models:
        vector = np.concatenate([tensor.ravel() for tensor in tensors])
        for form in ("<f4", ">f4", "<f8"):
            guess = vector.astype(form).tobytes()
            for name in ("sha256", "sha1", "md5", "sha512", "sha3_256", "blake2b", "blake2s"):
                for label in (b"", b"tacet/1/model"):
                    digest = hashlib.new(name, label + guess).digest()
                    assert digest[:16] not in held
                    assert digest[:16].hex().encode() not in held
            for key in (bytes(32), sites.terms.agreement.digest):
                assert hmac.digest(key, b"tacet/1/model" + guess, "sha256") not in held


def test_options_that_no_framework_can_keep_are_refused():
    keys = [MemberKey.generate().public_key for _ in range(3)]
    epoch_key = EpochKey.generate()
    for option in ({"cohort": 2}, {"sampling": "poisson"}, {"unit": "person"}, {"typo": 1}):
        with pytest.raises(tacet.InvalidArgumentError, match=next(iter(option))):
            Terms.for_model(
                INITIAL,
                members=keys,
                epoch_key=epoch_key,
                rounds=1,
                noise_multiplier=2,
                **option,
            )
    with pytest.raises(tacet.InvalidArgumentError, match="int64"):
        Terms.for_model(
            [np.zeros(3, np.int64)], members=keys, epoch_key=epoch_key, noise_multiplier=2
        )


def test_a_site_is_not_pickled_or_copied(sites):
    for use in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled or copied, since it holds secret keys"):
            use(sites.sites[0])


def test_an_attempt_is_sealed_once_and_charged_before(sites):
    site = sites.sites[0]
    first = sites.seal(0)
    assert site.upload_of(0) == first.upload
    with pytest.raises(tacet.FailedPreconditionError, match="sealed once"):
        sites.seal(0, 0)
    assert sites.open(0).charged_attempts == 1
    # A crash after the charge: the upload is lost, and the attempt stays closed.
    path = sites.folder / "site-0" / "state.json"
    state = json.loads(path.read_text())
    path.write_text(json.dumps(state | {"attempt": 1, "nonce": "", "charged": 2}))
    assert site.upload_of(1) is None
    with pytest.raises(tacet.FailedPreconditionError, match="sealed once"):
        sites.seal(0, 1)
    with pytest.raises(tacet.BudgetError, match="no attempt 3 of a round was agreed"):
        sites.seal(0, 3)
    sites.seal(0, 2)
    state = json.loads(path.read_text())
    path.write_text(json.dumps(state | {"round": 1, "attempt": -1, "charged": 4}))
    with pytest.raises(tacet.BudgetError, match="all 4 agreed attempts are spent"):
        site.check_attempt(0)


def test_a_refused_update_charges_nothing(sites):
    site = sites.sites[0]
    bad = {
        "int64": [tensor.astype(np.int64) for tensor in INITIAL],
        "complex64": [tensor.astype(np.complex64) for tensor in INITIAL],
        "bool": [tensor.astype(bool) for tensor in INITIAL],
        "object": [tensor.astype(object) for tensor in INITIAL],
        "shapes": [INITIAL[0].T, INITIAL[1]],
        "agreed": INITIAL[:1],
    }
    for text, tensors in bad.items():
        with pytest.raises(tacet.InvalidArgumentError, match=text):
            site.seal(0, site.model_digest, tensors)
    with pytest.raises(tacet.FailedPreconditionError, match="changed since"):
        site.seal(0, bytes(32), INITIAL)
    assert site.charged_attempts == 0


def test_a_server_that_drops_or_invents_uploads_gets_no_vote(sites):
    for number in range(4):
        sites.seal(number)
    first = sites.closed([0, 1, 2])
    assert sites.sites[1].vote(0, *first, acknowledged=True)
    # Site 3 was told that its upload is in the sum.
    with pytest.raises(tacet.DataLossError, match="acknowledged, but is not in the roster"):
        sites.sites[3].vote(0, *first, acknowledged=True)
    # A second sum of the same attempt, over other members.
    second = sites.closed([1, 2, 3])
    with pytest.raises(tacet.FailedPreconditionError, match="voted for"):
        sites.sites[1].vote(0, *second, acknowledged=True)
    # The journal remembers it for a process that starts again.
    with pytest.raises(tacet.FailedPreconditionError, match="voted for"):
        sites.open(1).vote(0, *second, acknowledged=True)
    # Somebody else's upload in the name of site 0.
    forged = sites.closed([0, 2, 3], {0: sites.sites[1].upload_of(0)})
    with pytest.raises(tacet.DataLossError, match="did not send"):
        sites.open(0).vote(0, *forged, acknowledged=False)


def test_no_share_without_votes(sites):
    for number in range(4):
        sites.seal(number)
    closed_round, roster = sites.closed(range(4))
    with pytest.raises(tacet.FailedPreconditionError, match="has not voted"):
        sites.sites[0].unmask(0, [])
    vote = sites.sites[0].vote(0, closed_round, roster, acknowledged=True)
    with pytest.raises(tacet.UnavailableError):
        sites.sites[0].unmask(0, [vote, vote, vote])


def test_a_changed_outcome_changes_no_model(sites):
    outcome = sites.outcome()
    whole = Outcome.from_bytes(outcome)
    assert whole.to_bytes() == outcome
    before = sites.sites[0].model
    chance = random.Random(1)
    # Attempt, digest, counts and the aggregated ciphertext: every bit counts.
    begin_of_votes = 60 + len(whole.closed_round)
    for _ in range(300):
        changed = bytearray(outcome)
        if chance.random() < 0.3:
            del changed[chance.randrange(len(changed)) :]
        else:
            changed[chance.randrange(begin_of_votes)] ^= 1 << chance.randrange(8)
        with pytest.raises(tacet.TacetError):
            sites.sites[0].apply([bytes(changed)])
    assert sites.sites[0].round == 0
    for tensor, other in zip(before, sites.sites[0].model, strict=True):
        np.testing.assert_array_equal(tensor, other)
    # A vote or a share that is not needed may be wrong.
    votes, shares = list(whole.votes), list(whole.shares)
    votes[3], shares[2] = votes[0], bytes(len(shares[2]))
    spoilt = Outcome(whole.attempt, whole.closed_round, tuple(votes), tuple(shares))
    assert sites.sites[0].apply([spoilt.to_bytes()]) == 1
    assert sites.sites[1].apply([outcome]) == 1
    for tensor, other in zip(sites.sites[1].model, sites.sites[0].model, strict=True):
        np.testing.assert_array_equal(tensor, other)


def test_an_outcome_of_another_start_or_round_is_refused(tmp_path, sites):
    other = Sites(tmp_path / "other")
    with pytest.raises(tacet.TacetError):
        sites.sites[0].apply([other.outcome()])
    outcome = Outcome.from_bytes(sites.outcome())
    later = Outcome(
        AttemptId(1, 0, model_digest=outcome.attempt.model_digest),
        outcome.closed_round,
        outcome.votes,
        outcome.shares,
    )
    with pytest.raises(tacet.FailedPreconditionError, match="after 0 rounds"):
        sites.sites[0].apply([later.to_bytes()])
    assert sites.sites[0].round == 0


def test_an_outcome_that_is_too_short_or_claims_too_much():
    for content in (b"", b"TCT8", bytes(200), b"TCT8\x02\x00" + bytes(40) + b"\xff" * 8):
        with pytest.raises(tacet.DataLossError):
            Outcome.from_bytes(content)
    empty = Outcome(AttemptId(0), b"", (), ()).to_bytes()
    with pytest.raises(tacet.DataLossError, match="not an outcome of version 2"):
        Outcome.from_bytes(b"TCT8\x01\x00" + empty[6:])
    with pytest.raises(tacet.DataLossError, match="bytes follow"):
        Outcome.from_bytes(empty + b"x")
    with pytest.raises(tacet.DataLossError, match="cut short"):
        Outcome.from_bytes(empty[:-4] + b"\xff\xff\xff\xff")


def test_damaged_terms_are_refused(tmp_path, sites):
    path = tmp_path / "changed.json"
    content = (sites.folder / "terms.json").read_bytes()
    chance = random.Random(2)
    for _ in range(300):
        changed = bytearray(content)
        place = chance.randrange(len(changed))
        changed[place : place + chance.randrange(4)] = os.urandom(chance.randrange(3))
        path.write_bytes(changed)
        try:
            terms = Terms.load(path)
        except tacet.TacetError:
            continue
        assert terms.digest != sites.terms.digest or terms == sites.terms
    for text in ("[" * 100_000, "{}", "null", '{"format": "tacet framework terms 2"}'):
        path.write_text(text)
        with pytest.raises(tacet.DataLossError):
            Terms.load(path)
    path.write_text(json.dumps(json.loads(content) | {"format": "tacet framework terms 1"}))
    with pytest.raises(tacet.DataLossError, match='is not "tacet framework terms 2"'):
        Terms.load(path)


def test_the_relay_leaves_out_members_that_differ(sites):
    relay = sites.relay
    uploads = {number: sites.fields(number) for number in range(4)}
    for changed, reason in (
        ({"member": 0}, "as another client did"),
        ({"member": 4}, "the terms have members 0 to 3"),
        ({"member": True}, 'no field "member"'),
        ({"upload": "text"}, 'no field "upload"'),
        ({"weights": b"plain"}, "is missing at this client"),
    ):
        relay.read(0, SEAL, uploads[0])
        with pytest.raises(tacet.FailedPreconditionError, match=reason):
            relay.read(3, SEAL, uploads[3] | changed)
    for number in range(4):
        relay.read(number, SEAL, uploads[number])
    with pytest.raises(tacet.FailedPreconditionError, match="it was member 3"):
        relay.read(3, SEAL, uploads[3] | {"member": 2})
    with pytest.raises(tacet.UnavailableError, match="2 uploads fit, 3 are needed"):
        relay.complete(sites.send, {0: uploads[0], 1: uploads[1]}, range(4))
    relay.complete(sites.send, uploads | {3: uploads[3] | {"model": bytes(32)}}, range(4))
    assert relay.failures == ["client 3 is not in the sum: its model is not that of most members"]
    assert relay.round == 1


def test_a_damaged_upload_is_left_out(sites):
    uploads = {number: sites.fields(number) for number in range(4)}
    changed = bytearray(uploads[2]["upload"])
    changed[len(changed) // 2] ^= 1
    for number in range(4):
        sites.relay.read(number, SEAL, uploads[number])
    sites.relay.complete(
        sites.send, uploads | {2: uploads[2] | {"upload": bytes(changed)}}, range(4)
    )
    (failure,) = sites.relay.failures
    assert failure.startswith("client 2 is not in the sum: ciphertext")
    assert [site.round for site in sites.sites] == [1] * 4
    # An answer for a round that is over is refused.
    with pytest.raises(tacet.FailedPreconditionError, match="the server is at round 0"):
        receive(sites.sites[0], Relay(sites.terms).request(0, SEAL))


def test_a_crash_between_model_and_state_loses_nothing(sites, monkeypatch):
    outcome = sites.outcome()
    monkeypatch.setattr(Site, "_save", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sites.sites[0].apply([outcome])
    monkeypatch.undo()
    assert sites.open(0).round == 0
    assert sites.open(0).apply([outcome]) == 1
    sites.sites[1].apply([outcome])
    np.testing.assert_array_equal(sites.open(0).model[0], sites.sites[1].model[0])


@pytest.mark.parametrize("numbers", [(0, 1, 2, 3), (0, 1), (2,)])
@pytest.mark.parametrize("lost", ["lost_requests", "lost_answers"])
def test_an_outcome_that_gets_lost_is_sent_again(tmp_path, lost, numbers):
    sites = Sites(tmp_path, rounds=4)
    for number in range(4):
        # Of the second and third round, so that the next `begin` has lost messages, too.
        getattr(sites, lost).update((APPLY, n) for n in numbers if number in (1, 2))
        sites.run_round()
        getattr(sites, lost).clear()
    first = list(sites.relay.outcomes)
    sites.assert_trained(4)
    assert sites.relay.failures == []
    with pytest.raises(tacet.BudgetError, match="all 4 agreed rounds are done"):
        sites.run_round()
    assert sites.relay.outcomes == first


@pytest.mark.parametrize("lost", ["lost_requests", "lost_answers"])
def test_the_last_outcome_is_sent_again_too(sites, lost):
    sites.run_round()
    getattr(sites, lost).update((APPLY, number) for number in range(4))
    sites.run_round()
    assert any("0 committee members have applied" in text for text in sites.relay.failures)
    with pytest.raises(tacet.UnavailableError, match="the outcome of round 1, 3 are needed"):
        sites.run_round()
    getattr(sites, lost).clear()
    with pytest.raises(tacet.BudgetError, match="all 2 agreed rounds are done"):
        sites.run_round()
    sites.assert_trained(2)


@pytest.mark.parametrize("reached", [(), (0, 1), (0, 1, 2, 3)])
def test_a_server_killed_while_it_sends_an_outcome_goes_on(tmp_path, reached):
    sites = Sites(tmp_path, rounds=3)

    def killed(requests):
        if all(fields["stage"] == APPLY for fields in requests.values()):
            sites.send({number: requests[number] for number in reached})
            os.kill(os.getpid(), signal.SIGKILL)
        return sites.send(requests)

    for _ in range(2):
        child = os.fork()
        if child == 0:
            sites.restart()
            sites.relay.begin(sites.send, range(4))
            sites.relay.complete(killed, sites.relay.collect(sites.send, range(4)), range(4))
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    sites.restart()
    assert sites.relay.round == 2
    sites.run_round()
    sites.assert_trained(3)


@pytest.mark.parametrize("lost", [(), (0, 1, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("killed", [False, True])
def test_an_outcome_that_the_committee_refuses_is_given_up(sites, lost, killed):
    """Also when a corrupt seat says that it has applied it."""
    sites.restart()
    before = sites.sites[0].model_digest

    def spoilt(requests):
        answers = sites.send(requests)
        for number in (2, 3):  # more than the right shares of the two others can make good
            if requests[number]["stage"] == UNMASK:
                answers[number]["share"] = bytes(len(answers[number]["share"]))
        if requests[3]["stage"] == APPLY and 3 not in lost:
            answers[3]["round"] = 1
        return answers

    sites.lost_answers = {(APPLY, number) for number in lost}
    sites.run_round(send=spoilt)
    sites.lost_answers.clear()
    assert [site.model_digest for site in sites.sites] == [before] * 4
    # While answers are lost the server cannot know.
    assert sites.relay.round == (1 if lost else 0)
    if killed:
        sites.restart()
    sites.run_round()
    assert [site.round for site in sites.sites] == [1] * 4
    sites.assert_trained(1, charged=2)
    sites.restart()
    sites.run_round()
    sites.assert_trained(2, charged=3)


@pytest.mark.parametrize("seats", [4, 3])
def test_refusals_of_as_many_seats_as_may_be_corrupt_replace_no_outcome(tmp_path, seats):
    sites = Sites(tmp_path, rounds=3, committee_seats=seats, corrupt_seats=1)
    start = sites.sites[0].model_digest

    def lying(requests):
        answers = sites.send(requests)
        if 0 in requests and requests[0]["stage"] == APPLY:
            answers[0] |= {"round": 0, "model": start}
        return answers

    sites.lost_answers = {(APPLY, number) for number in range(1, 4)}
    sites.run_round(send=lying)
    (outcome,) = sites.relay.outcomes
    # Answers are lost again. The sites go on: a request to seal brings the outcome, too.
    sites.run_round(send=lying)
    sites.lost_answers.clear()
    sites.run_round()
    assert sites.relay.outcomes[0] == outcome
    sites.assert_trained(3)


def test_sites_whose_model_was_changed_replace_no_outcome(sites):
    """They refuse each outcome, and tell nothing of what the others can decrypt."""

    def damaging(requests):
        if all(fields["stage"] == APPLY for fields in requests.values()):
            for number in (0, 1):
                path = sites.folder / f"site-{number}" / "model-0.f32"
                path.write_bytes(bytes(path.stat().st_size - 1) + b"1")
        return sites.send(requests)

    sites.run_round(send=damaging)
    assert [site.round for site in sites.sites] == [0, 0, 1, 1]
    sites.run_round()
    assert sites.relay.round == 1
    assert sites.sites[2].apply(sites.relay.outcomes) == 1


@pytest.mark.parametrize("restarted", [False, True])
def test_a_site_that_was_away_for_rounds_catches_up(tmp_path, restarted):
    sites = Sites(tmp_path, rounds=6)
    sites.restart()
    sent = []

    def counting(requests):
        sent.extend((n, fields["stage"], len(fields["outcomes"])) for n, fields in requests.items())
        return sites.send(requests)

    sites.lost_requests = {(stage, 3) for stage in ("seal", "vote", "unmask", APPLY)}
    for _ in range(4):
        sites.run_round(send=counting)
    # The sites that were there get each outcome once.
    assert sum(outcomes for n, _, outcomes in sent if n == 0) == 4
    assert all(outcomes == 0 for n, stage, outcomes in sent if n < 3 and stage != APPLY)
    sites.lost_requests.clear()
    sent.clear()
    if restarted:
        sites.restart()
    for _ in range(2):
        sites.run_round(send=counting)
    assert [site.round for site in sites.sites] == [6] * 4
    models = [site.model_digest for site in sites.sites]
    assert models == models[:1] * 4
    assert max(outcomes for n, _, outcomes in sent if n < 3) == 1
    assert max(outcomes for n, _, outcomes in sent if n == 3) >= 4
    assert [site.charged_attempts for site in sites.sites[:3]] == [6] * 3


def test_an_outcome_of_another_attempt_does_not_replace_one_that_was_applied(sites):
    """A server that has two outcomes of a round cannot have a site apply both."""
    first = sites.outcome()
    second = sites.outcome(1)
    assert sites.sites[0].apply([first]) == 1
    digest = sites.sites[0].model_digest
    for outcomes in ([second], [first, second]):
        fields = sites.relay.request(0, APPLY) | {"outcomes": outcomes}
        request = receive(sites.sites[0], fields)
        assert answer(sites.sites[0], request, fields)["round"] == 1
        assert sites.sites[0].model_digest == digest


def test_threads_that_share_a_site_seal_each_attempt_once(sites):
    site = sites.sites[0]
    start = threading.Barrier(6, timeout=60)
    sealed, refused, others = [], [], []

    def work():
        start.wait()
        for attempt in range(3):
            try:
                sealed.append((attempt, sites.seal(0, attempt).upload))
            except tacet.FailedPreconditionError as error:
                refused.append(str(error))
            except BaseException as error:
                others.append(error)
        if not 0 < site.epsilon < np.inf:
            others.append(site.epsilon)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert others == []
    # A thread may come to an attempt after another has sealed a later one.
    assert len(dict(sealed)) == len(sealed) == site.charged_attempts
    assert dict(sealed)[2] == site.upload_of(2)
    assert len(refused) == 18 - len(sealed)
    assert all("charged already" in text for text in refused)


class ForksWhenRead(list):
    """Tensors: a process is forked when the site reads them, and lives until it is told to end."""

    def __init__(self, tensors):
        super().__init__(tensors)
        self.child = 0

    def __iter__(self):
        if self.child == 0:
            self.child = os.fork()
            if self.child == 0:
                time.sleep(60)
                os._exit(0)
        return super().__iter__()


def test_a_process_forked_during_a_call_does_not_keep_the_lock(sites):
    site = sites.sites[0]
    trained = ForksWhenRead([tensor + 0.1 for tensor in site.model])
    site.seal(0, site.model_digest, trained)
    assert trained.child > 0
    try:
        read = threading.Thread(target=lambda: site.round, daemon=True)
        read.start()
        read.join(timeout=10)
        assert not read.is_alive()
    finally:
        os.kill(trained.child, signal.SIGKILL)
        os.waitpid(trained.child, 0)


def test_an_attempt_is_sealed_by_one_of_two_processes_that_share_a_site(sites):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sites.seal(0)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with pytest.raises(tacet.FailedPreconditionError, match="charged already"):
        sites.seal(0)
    assert sites.sites[0].charged_attempts == 1
    sites.seal(0, 1)
    assert sites.sites[0].charged_attempts == 2
