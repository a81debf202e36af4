using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Resilience;

/// <summary>A token bucket. No interval contains more starts of calls than its burst and its rate allow. Calls are served first come, first served.</summary>
/// <remarks>
/// <para>
/// It implements the generic cell rate algorithm (ITU-T I.371). The state is a single mark m, the moment at which all tokens taken so far have flowed in. A
/// call may start at time t when t >= m - (burst - cost) / rate, and moves the mark to max(t, m) + cost / rate.
/// </para>
/// <para>
/// The time that counts is that of the start. A call that has to wait is woken when its turn may have come, asks again, and takes its tokens at that moment, on
/// the thread that continues with it. So a call that wakes late never starts together with later calls. Tokens that flow into a full bucket meanwhile are lost:
/// with timers that wake a call late by up to a tick, the full rate needs a burst of at least rate * tick + cost.
/// </para>
/// <para>
/// All members are thread-safe. A call that need not wait costs one clock reading and one compare-and-swap, without a lock or an allocation. At a million
/// operations per second and more, calls that find the bucket at least half full share one clock reading for up to 1,024 calls, or a sixty-fourth of the burst.
/// They are accounted for as if they were made together at the next reading. The rate is kept just as strictly, but the tokens that flowed in between, at most
/// a millisecond's worth, are lost. One instance can be shared by calls, chains and runs.
/// </para>
/// </remarks>
[DebuggerDisplay("{Waiting} wait")]
public sealed partial class TokenBucket : IRateLimit, IMeteredPolicy
{
    // If an operation has less time than this, a clock reading for each would be most of its cost.
    private const double QuickCost = 1e-6;
    private const double QuickShare = 1 / 64.0;
    private const int FewestQuick = 64;
    private const int MostQuick = 1024;

    // The mark has two states. Open: any thread moves it on, with a compare-and-swap. Held, while a call waits: later than any time, so that no call gets
    // past it without the lock. Only the holder of the lock holds it, with an exchange that tells the mark that it replaces, and opens it again when nobody
    // waits. With a read and a write in place of the exchange, tokens that were taken in between would be given out twice.
    private const double Held = double.PositiveInfinity;

    private readonly Clock _clock;
    private readonly Lock _lock = new();
    private readonly LinkedList<RateTurn> _waiting = [];
    private readonly QuickTokens? _quick;
    private readonly long _origin;
    private readonly double _cost;
    private readonly double _reach;

    // In ticks of the clock since the origin, as a double: for a year, the rounding of one call is below a millionth of a millisecond, whereas whole ticks of
    // 100 ns would be wrong by a tenth at three million calls per second.
    private double _mark;

    // The mark itself, while a call waits.
    private double _heldMark;

    /// <summary>Creates a full bucket.</summary>
    /// <param name="options">The rate and the burst; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public TokenBucket(RateLimitOptions? options = null)
        : this(options ?? new RateLimitOptions(), isShared: true)
    {
    }

    /// <summary>Creates a full bucket.</summary>
    /// <param name="options">The rate and the burst.</param>
    /// <param name="isShared">Whether it is counted by itself, and not with those of the other keys, or with its run.</param>
    internal TokenBucket(RateLimitOptions options, bool isShared)
    {
        options.Validate();
        Name = options.Name;
        _clock = new Clock(options.TimeProvider);
        _origin = _clock.Now;

        // First by the rate: the ticks of a whole token may be more than a double can hold, of which an operation takes a small part.
        double frequency = options.TimeProvider.TimestampFrequency;
        double seconds = options.TokensPerOperation / options.TokensPerSecond;
        _cost = seconds * frequency;
        double tolerance = (options.BurstCapacity - options.TokensPerOperation) / options.TokensPerSecond * frequency;

        // A thousandth of a tick, or a millionth of a call: the rounding of the double must not cost a whole tick.
        _reach = tolerance + Math.Min(1e-3, 1e-6 * _cost);
        double quick = Math.Min(MostQuick, QuickShare * tolerance / _cost);
        _quick = seconds <= QuickCost && quick >= FewestQuick ? new QuickTokens((int)quick) : null;
        if (isShared)
        {
            PolicyRegistry.Add(this);
        }
    }

    /// <summary>
    /// The time until a call that asks now may start, behind all calls that already wait; zero if it may start at once. In units of 100 ns, rounded up.
    /// </summary>
    /// <remarks>Use it to wait in your own code. It reserves nothing: other calls may come first, and may wake late.</remarks>
    public TimeSpan RetryAfter
    {
        get
        {
            using (_lock.Hold())
            {
                AssertInvariantsNeedsLock();
                SettleNeedsLock();
                int waiting = _waiting.Count + (_turns?.Count ?? 0);
                double mark = _waiting.Count > 0 ? _heldMark : Turns > 0 ? _calledMark : Volatile.Read(ref _mark);
                TimeSpan wait = _clock.ToTimeSpan(StartTicks(mark + (waiting * _cost)) - (_clock.Now - _origin));

                // There may be tokens for all waiting calls, with none of them awake yet.
                return wait == TimeSpan.Zero && waiting > 0 ? new TimeSpan(1) : wait;
            }
        }
    }

    /// <summary>What metrics call it: <see cref="RateLimitOptions.Name"/>.</summary>
    public string? Name { get; }

    /// <summary>Whether the bucket is as a new one.</summary>
    internal bool IsFull
    {
        get
        {
            using (_lock.Hold())
            {
                SettleNeedsLock();
                return _waiting.Count == 0 && Turns == 0 && Volatile.Read(ref _mark) <= _clock.Now - _origin;
            }
        }
    }

    void IMeteredPolicy.AddTo(PolicyCounts counts) => counts.AddRate(Waiting);

    /// <summary>How many calls wait for their tokens.</summary>
    public int Waiting
    {
        get
        {
            using (_lock.Hold())
            {
                return _waiting.Count + Turns;
            }
        }
    }

    /// <summary>Takes the tokens of a call that may start at once.</summary>
    /// <returns><see langword="false"/> if the call would have to wait, for its tokens or behind waiting calls. Then nothing is taken.</returns>
    public bool TryEnter() => _quick is null ? TryTake() : _quick.TryTake() || TryTakeAndOpen();

    /// <summary>
    /// Waits until the caller may make one call, and takes its tokens at that moment. Await the result without delay, and then make the call without delay.
    /// </summary>
    /// <param name="cancellationToken">Ends the wait; then nothing is taken.</param>
    /// <returns>A task that has already completed, without an allocation, if there is nothing to wait for.</returns>
    /// <remarks>
    /// Callers are admitted in the order of their calls to this method. An await of the task continues on the thread that took the tokens, unless it captures
    /// a context: use <c>ConfigureAwait(false)</c> if there is one.
    /// </remarks>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask WaitAsync(CancellationToken cancellationToken = default) =>
        cancellationToken.IsCancellationRequested ? ValueTask.FromCanceled(cancellationToken)
        : TryEnter() || Queue(cancellationToken) is not { } turn ? ValueTask.CompletedTask
        : new ValueTask(turn.Wait.AsTask());

    /// <inheritdoc/>
    /// <remarks>A call that waits holds its place, and those behind it, until it is awaited.</remarks>
    ValueTask<IDisposable?> IRateLimit.EnterAsync(CancellationToken cancellationToken) =>
        cancellationToken.IsCancellationRequested ? ValueTask.FromCanceled<IDisposable?>(cancellationToken)
        : TryEnter() || Queue(cancellationToken) is not { } turn ? default
        : turn.Wait;

    /// <summary>
    /// Waits until a call in the queue may ask for its tokens. Only the first call in it waits for a point in time, which no other call moves meanwhile; the
    /// others wait to be the first. A call that leaves wakes the next one.
    /// </summary>
    internal Task UntilMayAskAsync(RateTurn turn, CancellationToken cancellationToken) =>
        IsFirst(turn, out long start) ? UntilAsync(start, cancellationToken) : turn.First.Task.WaitAsync(cancellationToken);

    /// <summary>Waits for a point in time that the bucket gave.</summary>
    internal Task UntilAsync(long start, CancellationToken cancellationToken) => TimerDelay.WaitUntilAsync(start, _clock, cancellationToken);

    /// <summary>Takes the tokens of the first call in the queue, which then leaves it, or returns when that call may start.</summary>
    internal bool TryTakeFirst(RateTurn turn, out long start)
    {
        RateTurn? next;
        using (_lock.Hold())
        {
            AssertInvariantsNeedsLock();
            Debug.Assert(_waiting.First == turn.Node, "Only the first one asks.");
            start = _origin + StartTicks(_heldMark);
            double now = _clock.Now - _origin;
            if (_heldMark - _reach > now)
            {
                return false;
            }

            _heldMark = MarkAfter(_heldMark, now);
            next = RemoveNeedsLock(turn);
        }

        next?.First.TrySetResult();
        return true;
    }

    /// <summary>Takes a call out of the queue, if it is still there.</summary>
    internal void Leave(RateTurn turn)
    {
        RateTurn? next;
        using (_lock.Hold())
        {
            AssertInvariantsNeedsLock();
            next = RemoveNeedsLock(turn);
        }

        next?.First.TrySetResult();
    }

    private bool TryTake()
    {
        // The clock first: between the mark and its exchange there must be no time for others.
        double now = _clock.Now - _origin;
        double mark = Volatile.Read(ref _mark);
        while (mark - _reach <= now)
        {
            double seen = Interlocked.CompareExchange(ref _mark, MarkAfter(mark, now), mark);
            if (seen.Equals(mark))
            {
                return true;
            }

            mark = seen;
        }

        return false;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryTakeAndOpen()
    {
        using (_lock.Hold())
        {
            AssertInvariantsNeedsLock();
            SettleNeedsLock();
            if (!TryTake())
            {
                return false;
            }

            // At least half full.
            if (_mark - (_clock.Now - _origin) <= _reach / 2)
            {
                _quick!.OpenNeedsLock();
            }

            return true;
        }
    }

    /// <summary>Accounts now for the tokens that were taken without reading the clock.</summary>
    private void SettleNeedsLock()
    {
        // Such tokens are only open while no call waits, and then no other call moves the mark without the lock.
        if (_quick?.CloseNeedsLock() is > 0 and int taken)
        {
            Volatile.Write(ref _mark, Math.Max(_mark, _clock.Now - _origin) + (taken * _cost));
        }
    }

    /// <summary>Takes a place in the queue; or takes the tokens after all, and then there is no place.</summary>
    private RateTurn? Queue(CancellationToken cancellationToken)
    {
        RateTurn turn = new(this, cancellationToken);
        using (_lock.Hold())
        {
            AssertInvariantsNeedsLock();
            Debug.Assert(Turns == 0, "Items that wait elsewhere share a bucket with nobody else.");
            if (_waiting.Count == 0)
            {
                SettleNeedsLock();
                double now = _clock.Now - _origin;

                // From here on, no call takes tokens without the lock.
                _heldMark = Interlocked.Exchange(ref _mark, Held);
                if (_heldMark - _reach <= now)
                {
                    Volatile.Write(ref _mark, MarkAfter(_heldMark, now));
                    return null;
                }
            }

            _waiting.AddLast(turn.Node);
            return turn;
        }
    }

    private bool IsFirst(RateTurn turn, out long start)
    {
        using (_lock.Hold())
        {
            start = _origin + StartTicks(_heldMark);
            return _waiting.First == turn.Node;
        }
    }

    /// <summary>Removes a call from the queue. If it was the last one, opens the bucket to all.</summary>
    /// <returns>The call to wake outside the lock.</returns>
    private RateTurn? RemoveNeedsLock(RateTurn turn)
    {
        if (turn.Node.List is null)
        {
            return null;
        }

        bool wasFirst = _waiting.First == turn.Node;
        _waiting.Remove(turn.Node);
        if (_waiting.Count == 0)
        {
            Volatile.Write(ref _mark, _heldMark);
        }

        return wasFirst ? _waiting.First?.Value : null;
    }

    // A mark that does not move would admit any number of calls. It does not move if a cost is below the resolution.
    private double MarkAfter(double mark, double now)
    {
        double after = (mark > now ? mark : now) + _cost;
        return after > mark ? after : Math.BitIncrement(mark);
    }

    /// <summary>The first moment at which a call that finds this mark may start. The check compares in the same way, so that it gets the same answer.</summary>
    // Clamped on both sides, so that a difference of ticks does not overflow: a burst may be larger than any time.
    private long StartTicks(double mark) => (long)Math.Clamp(Math.Ceiling(mark - _reach), long.MinValue / 2, long.MaxValue / 2);

    [Conditional("DEBUG")]
    private void AssertInvariantsNeedsLock()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The bucket's lock is held.");
        bool isHeld = double.IsPositiveInfinity(Volatile.Read(ref _mark));
        Debug.Assert(_waiting.Count + Turns > 0 == isHeld, "While somebody waits, and only then, nobody else gets in.");
    }
}
