using System.Diagnostics;
using System.Threading.Tasks.Sources;

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

    // Items of runs that wait elsewhere, in a bucket that only they use. One timer calls the first item when its tokens should be there, and the items take them
    // when they start. An item may start late, or never if its run is paused. So there are two marks: that of the tokens that were taken, which alone decides who
    // may start, and a later one, as if all items that were called had taken theirs at that moment. It decides who is called next. So those behind an item leave
    // its tokens to it, but do not wait for it for longer than it takes these to flow in.

    private static readonly TimeSpan RetryPause = TimeSpan.FromMilliseconds(10);

    private LinkedList<ItemRateTurn>? _turns;
    private int _called;
    private double _calledMark;
    private long _turnNumber;
    private ITimer? _timer;
    private long _timerFor;

    private int Turns => (_turns?.Count ?? 0) + _called;

    /// <summary>Takes the tokens of an item that may start at once, or gives it a turn at the end of the queue.</summary>
    /// <param name="turn">Its turn; null if it has its tokens.</param>
    internal bool TryEnter(out ItemRateTurn? turn)
    {
        ToldTurns<ItemRateTurn> called;
        turn = null;
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (Turns == 0)
            {
                _calledMark = _mark;
            }

            if (_turns is not { Count: > 0 } && _calledMark - _reach <= now)
            {
                _mark = MarkAfter(_mark, now);
                _calledMark = MarkAfter(_calledMark, now);
            }
            else
            {
                turn = new ItemRateTurn(this) { Number = ++_turnNumber };
                (_turns ??= []).AddLast(turn.Node);
            }

            called = CallNeedsLock(now);
        }

        called.Tell();
        return turn is null;
    }

    /// <summary>Takes the tokens of an item that was called, or makes it wait again, before all that came after it.</summary>
    internal bool TryEnter(ItemRateTurn turn)
    {
        ToldTurns<ItemRateTurn> called;
        bool taken;
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (!turn.IsCalled)
            {
                return false;
            }

            taken = TryTakeNeedsLock(now);
            UncallNeedsLock(turn, taken);
            if (!taken)
            {
                turn.WaitAgain();
                turn.InsertInto(_turns!);
            }

            called = CallNeedsLock(now);
        }

        called.Tell();
        return taken;
    }

    /// <summary>Takes a turn out of the queue. Never throws: the item has ended, and its run may be ending too.</summary>
    internal void Drop(ItemRateTurn turn)
    {
        ToldTurns<ItemRateTurn> called;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (turn.IsCalled)
            {
                UncallNeedsLock(turn, taken: false);
            }
            else
            {
                _turns!.Remove(turn.Node);
            }

            called = CallOthersNeedsLock();
        }

        called.Tell();
    }

    private ToldTurns<ItemRateTurn> CallOthersNeedsLock()
    {
        try
        {
            // Without anybody to call, the time does not matter.
            return CallNeedsLock(_turns is { Count: > 0 } ? Now : 0);
        }
        catch (Exception)
        {
            CallLaterNeedsLock();
            return default;
        }
    }

    private void UncallNeedsLock(ItemRateTurn turn, bool taken)
    {
        turn.IsCalled = false;
        _called--;

        // Rounding must not add up, so the marks are the same when no item has tokens to take. An item that started late may have moved its mark beyond the
        // other.
        _calledMark = _called == 0 ? _mark : Math.Max(_mark, taken ? _calledMark : _calledMark - _cost);
    }

    /// <summary>The last step of every change: calls the items whose time has come, and sets the timer for the next one.</summary>
    /// <param name="now">The time since the origin.</param>
    /// <returns>Those to be told, without the lock.</returns>
    private ToldTurns<ItemRateTurn> CallNeedsLock(long now)
    {
        ToldTurns<ItemRateTurn> called = default;
        if (_turns is { Count: > 0 } turns)
        {
            while (turns.First is { } node && _calledMark - _reach <= now)
            {
                ItemRateTurn turn = node.Value;
                turns.RemoveFirst();
                turn.IsCalled = true;
                _called++;
                _calledMark = MarkAfter(_calledMark, now);
                called.Add(turn);
            }

            SetTimerNeedsLock(turns, now);
        }
        else
        {
            StopTimerNeedsLock();
        }

        return called;
    }

    private void SetTimerNeedsLock(LinkedList<ItemRateTurn> turns, long now)
    {
        if (turns.Count == 0)
        {
            StopTimerNeedsLock();
            return;
        }

        long start = StartTicks(_calledMark);
        if (_timer is null)
        {
            // Without the execution context of the first one that waits.
            using (ExecutionContext.IsFlowSuppressed() ? default : ExecutionContext.SuppressFlow())
            {
                _timer = _clock.Provider.CreateTimer(
                    static bucket => Unattended.Run(
                        (TokenBucket)bucket!, static bucket => bucket.CallTurns(), static (bucket, _) => bucket.CallTurnsAgain()),
                    this,
                    Timeout.InfiniteTimeSpan,
                    Timeout.InfiniteTimeSpan);
            }
        }
        else if (start == _timerFor)
        {
            return;
        }

        _timer.Change(TimerDelay.RoundUp(_clock.ToTimeSpan(start - now)), Timeout.InfiniteTimeSpan);
        _timerFor = start;
    }

    private void StopTimerNeedsLock()
    {
        ITimer? timer = _timer;
        _timer = null;
        timer?.Dispose();
    }

    // There was no memory, or the clock is the user's. The items still wait.
    private void CallTurnsAgain()
    {
        lock (_lock)
        {
            CallLaterNeedsLock();
        }
    }

    private void CallLaterNeedsLock()
    {
        _timerFor = -1;
        _timer?.Change(RetryPause, Timeout.InfiniteTimeSpan);
    }

    private void CallTurns()
    {
        ToldTurns<ItemRateTurn> called;
        long now = Now;
        lock (_lock)
        {
            if (Turns == 0)
            {
                return;
            }

            AssertInvariantsNeedsLock();

            // It has fired, perhaps early.
            _timerFor = -1;
            called = CallNeedsLock(now);
        }

        called.Tell();
    }
}

/// <summary>
/// A place in the queue of a <see cref="TokenBucket"/>. It does not ask for tokens before it is awaited. Then the thread that takes the tokens is the one that
/// continues with the call, and nothing comes in between.
/// </summary>
internal sealed class RateTurn : IValueTaskSource<IDisposable?>
{
    private readonly TokenBucket _bucket;
    private readonly CancellationToken _cancellationToken;
    private ManualResetValueTaskSourceCore<IDisposable?> _core;

    public RateTurn(TokenBucket bucket, CancellationToken cancellationToken)
    {
        _bucket = bucket;
        _cancellationToken = cancellationToken;
        Node = new LinkedListNode<RateTurn>(this);
    }

    /// <summary>The place itself.</summary>
    public LinkedListNode<RateTurn> Node { get; }

    /// <summary>Completes when this is the first place.</summary>
    public TaskCompletionSource First { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public ValueTask<IDisposable?> Wait => new(this, _core.Version);

    IDisposable? IValueTaskSource<IDisposable?>.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<IDisposable?>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<IDisposable?>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        _core.OnCompleted(continuation, state, token, flags);
        _ = WaitAsync();
    }

    private async Task WaitAsync()
    {
        Exception? failure = null;
        try
        {
            // Never on the stack of the caller, which does not expect to continue before it has begun to wait; also if the wait ends just now.
            await _bucket.UntilMayAskAsync(this, _cancellationToken).ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            _cancellationToken.ThrowIfCancellationRequested();

            // In the method that completes the wait. The end of another async method could be found by a thread that is only about to await it, and that
            // would continue some time after the tokens were taken.
            while (!_bucket.TryTakeFirst(this, out long start))
            {
                await _bucket.UntilAsync(start, _cancellationToken).ConfigureAwait(false);
                _cancellationToken.ThrowIfCancellationRequested();
            }
        }
        catch (Exception e)
        {
            failure = e;
        }

        if (failure is null)
        {
            _core.SetResult(null);
        }
        else
        {
            _bucket.Leave(this);
            _core.SetException(failure);
        }
    }
}

/// <summary>
/// The place of an item of a run in the queue of a <see cref="TokenBucket"/>. The item waits elsewhere. It is called when its tokens should be there, and takes
/// them when it starts, which may be later: then others may have taken them, and it waits again, before all who came after it.
/// </summary>
/// <param name="bucket">The bucket.</param>
internal sealed class ItemRateTurn(TokenBucket bucket) : QueueTurn<ItemRateTurn>(tellsAtOnce: true)
{
    public TokenBucket Bucket => bucket;

    /// <summary>Whether it has been called and has yet to take its tokens. Guarded by the bucket's lock.</summary>
    public bool IsCalled { get; set; }

    /// <summary>Takes the tokens, now that the item could start. Only for the caller that made it.</summary>
    /// <returns>False if it has to wait for <see cref="QueueTurn{TTurn}.Served"/> again.</returns>
    public bool TryEnter() => bucket.TryEnter(this);

    /// <summary>The item will not start. Called at most once, and not after the tokens were taken.</summary>
    public void Drop() => bucket.Drop(this);
}
