using System.Diagnostics;

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
/// All members are thread-safe. A call that need not wait costs one clock reading and one lock, without an allocation. One instance can be shared by calls,
/// chains and runs.
/// </para>
/// </remarks>
[DebuggerDisplay("{Waiting} wait")]
public sealed partial class TokenBucket : IRateLimit, IMeteredPolicy
{
    private readonly Clock _clock;
    private readonly Lock _lock = new();
    private readonly LinkedList<RateTurn> _waiting = [];
    private readonly long _origin;
    private readonly double _cost;
    private readonly double _reach;

    // In ticks of the clock since the origin, as a double: for a year, the rounding of one call is below a millionth of a millisecond, whereas whole ticks of
    // 100 ns would be wrong by a tenth at three million calls per second.
    private double _mark;

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
            long now = Now;
            lock (_lock)
            {
                AssertInvariantsNeedsLock();
                int waiting = _waiting.Count + (_turns?.Count ?? 0);
                double mark = Turns > 0 ? _calledMark : _mark;
                TimeSpan wait = _clock.ToTimeSpan(StartTicks(mark + (waiting * _cost)) - now);

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
            long now = Now;
            lock (_lock)
            {
                return IsFreeNeedsLock && _mark <= now;
            }
        }
    }

    void IMeteredPolicy.AddTo(PolicyCounts counts) => counts.AddRate(Waiting);

    /// <summary>How many calls wait for their tokens.</summary>
    public int Waiting
    {
        get
        {
            lock (_lock)
            {
                return _waiting.Count + Turns;
            }
        }
    }

    // Read before the lock is taken: the clock is the user's. It counts as the start of a call, which is never earlier.
    private long Now => _clock.Now - _origin;

    private bool IsFreeNeedsLock => _waiting.Count == 0 && Turns == 0;

    /// <summary>Takes the tokens of a call that may start at once.</summary>
    /// <returns><see langword="false"/> if the call would have to wait, for its tokens or behind waiting calls. Then nothing is taken.</returns>
    public bool TryEnter()
    {
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            return IsFreeNeedsLock && TryTakeNeedsLock(now);
        }
    }

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
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            Debug.Assert(_waiting.First == turn.Node, "Only the first one asks.");
            start = _origin + StartTicks(_mark);
            if (!TryTakeNeedsLock(now))
            {
                return false;
            }

            next = RemoveNeedsLock(turn);
        }

        next?.First.TrySetResult();
        return true;
    }

    /// <summary>Takes a call out of the queue, if it is still there.</summary>
    internal void Leave(RateTurn turn)
    {
        RateTurn? next;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            next = RemoveNeedsLock(turn);
        }

        next?.First.TrySetResult();
    }

    private bool TryTakeNeedsLock(double now)
    {
        if (_mark - _reach > now)
        {
            return false;
        }

        _mark = MarkAfter(_mark, now);
        return true;
    }

    /// <summary>Takes a place in the queue; or takes the tokens after all, and then there is no place.</summary>
    private RateTurn? Queue(CancellationToken cancellationToken)
    {
        RateTurn turn = new(this, cancellationToken);
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (IsFreeNeedsLock && TryTakeNeedsLock(now))
            {
                return null;
            }

            _waiting.AddLast(turn.Node);
            return turn;
        }
    }

    private bool IsFirst(RateTurn turn, out long start)
    {
        lock (_lock)
        {
            start = _origin + StartTicks(_mark);
            return _waiting.First == turn.Node;
        }
    }

    /// <summary>Removes a call from the queue.</summary>
    /// <returns>The call to wake outside the lock.</returns>
    private RateTurn? RemoveNeedsLock(RateTurn turn)
    {
        if (turn.Node.List is null)
        {
            return null;
        }

        bool wasFirst = _waiting.First == turn.Node;
        _waiting.Remove(turn.Node);
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
        Debug.Assert(_waiting.Count == 0 || Turns == 0, "Items that wait elsewhere share a bucket with nobody else.");
        Debug.Assert(Turns == 0 || _calledMark >= _mark, "What was called has not all been taken, and never the other way round.");
    }
}
