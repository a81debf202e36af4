using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Sources;
using Weir.Observability;

namespace Weir.Resilience;

/// <summary>A token bucket. No interval contains more starts of calls than its burst and its rate allow. Calls are served first come, first served.</summary>
/// <remarks>
/// <para>
/// It implements the generic cell rate algorithm (ITU-T I.371). The state is a single mark m, the moment at which all tokens taken so far have flowed in. A
/// call may start at time t when t >= m - (burst - cost) / rate, and moves the mark to max(t, m) + cost / rate.
/// </para>
/// <para>
/// The time that counts is that of the start. A call that has to wait is woken when it may be the first and its time may have come, asks again, and takes its tokens at that moment, on
/// the thread that continues with it. So a call that wakes late never starts together with later calls. Tokens that flow into a full bucket meanwhile are lost:
/// with timers that wake a call late by up to a tick, the full rate needs a burst of at least rate * tick + cost.
/// </para>
/// <para>
/// All members are thread-safe. A call that need not wait costs one clock reading and one lock, without an allocation. One instance can be shared by calls,
/// chains and runs.
/// </para>
/// </remarks>
[DebuggerDisplay("{Waiting} wait")]
public sealed class TokenBucket : IRateLimit, IMeteredPolicy
{
    // Two kinds wait, and never in the same bucket. Calls wait in _waiting: only the first one waits for a point in time, asks again when it has come, and takes
    // its tokens then; the others wait to be the first, and whoever leaves the front wakes the next one. Items of runs wait in _items, without a worker, and a
    // timer calls them: see there. Nobody is given tokens; whoever may start takes them, under _lock. The user's clock is read before the lock is taken, and
    // those who are woken or called are told without it.

    // Immutable.
    private readonly Clock _clock;
    private readonly Lock _lock = new();
    private readonly long _origin;
    private readonly double _cost;
    private readonly double _reach;

    // Under _lock. The mark is in ticks of the clock since the origin, as a double: for a year, the rounding of one call is below a millionth of a millisecond,
    // whereas whole ticks of 100 ns would be wrong by a tenth at three million calls per second.
    private readonly LinkedList<RateWaiter> _waiting = [];
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
                int waiting = _waiting.Count + (_items?.Count ?? 0);
                double mark = ItemsWaiting > 0 ? _calledMark : _mark;
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

    LiveEntry IMeteredPolicy.Show() => PolicyCounts.Rate(this, nameof(TokenBucket), Waiting);

    /// <summary>How many calls wait for their tokens.</summary>
    public int Waiting
    {
        get
        {
            lock (_lock)
            {
                return _waiting.Count + ItemsWaiting;
            }
        }
    }

    // Read before the lock is taken: the clock is the user's. It counts as the start of a call, which is never earlier.
    private long Now => _clock.Now - _origin;

    private bool IsFreeNeedsLock => _waiting.Count == 0 && ItemsWaiting == 0;

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
        : TryEnter() || Queue(cancellationToken) is not { } waiter ? ValueTask.CompletedTask
        : new ValueTask(waiter.Wait.AsTask());

    /// <inheritdoc/>
    /// <remarks>A call that waits stays in the queue, and holds up those behind it, until it is awaited.</remarks>
    ValueTask<IDisposable?> IRateLimit.EnterAsync(CancellationToken cancellationToken) =>
        cancellationToken.IsCancellationRequested ? ValueTask.FromCanceled<IDisposable?>(cancellationToken)
        : TryEnter() || Queue(cancellationToken) is not { } waiter ? default
        : waiter.Wait;

    /// <summary>
    /// Waits until a call in the queue may ask for its tokens. Only the first call in it waits for a point in time, which no other call moves meanwhile; the
    /// others wait to be the first. A call that leaves wakes the next one.
    /// </summary>
    internal Task UntilMayAskAsync(RateWaiter waiter, CancellationToken cancellationToken) =>
        IsFirst(waiter, out long start) ? UntilAsync(start, cancellationToken) : waiter.First.Task.WaitAsync(cancellationToken);

    /// <summary>Waits for a point in time that the bucket gave.</summary>
    internal Task UntilAsync(long start, CancellationToken cancellationToken) => TimerDelay.WaitUntilAsync(start, _clock, cancellationToken);

    /// <summary>Takes the tokens of the first call in the queue, which then leaves it, or returns when that call may start.</summary>
    internal bool TryTakeFirst(RateWaiter waiter, out long start)
    {
        RateWaiter? next;
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            Debug.Assert(_waiting.First == waiter.Node, "Only the first one asks.");
            start = _origin + StartTicks(_mark);
            if (!TryTakeNeedsLock(now))
            {
                return false;
            }

            next = RemoveNeedsLock(waiter);
        }

        next?.First.TrySetResult();
        return true;
    }

    /// <summary>Takes a call out of the queue, if it is still there.</summary>
    internal void Leave(RateWaiter waiter)
    {
        RateWaiter? next;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            next = RemoveNeedsLock(waiter);
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

    /// <summary>Puts a call into the queue; or takes its tokens after all, and then nothing waits.</summary>
    private RateWaiter? Queue(CancellationToken cancellationToken)
    {
        RateWaiter waiter = new(this, cancellationToken);
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (IsFreeNeedsLock && TryTakeNeedsLock(now))
            {
                return null;
            }

            _waiting.AddLast(waiter.Node);
            return waiter;
        }
    }

    private bool IsFirst(RateWaiter waiter, out long start)
    {
        lock (_lock)
        {
            start = _origin + StartTicks(_mark);
            return _waiting.First == waiter.Node;
        }
    }

    /// <summary>Removes a call from the queue.</summary>
    /// <returns>The call to wake outside the lock.</returns>
    private RateWaiter? RemoveNeedsLock(RateWaiter waiter)
    {
        if (waiter.Node.List is null)
        {
            return null;
        }

        bool wasFirst = _waiting.First == waiter.Node;
        _waiting.Remove(waiter.Node);
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
        Debug.Assert(_waiting.Count == 0 || ItemsWaiting == 0, "Items that wait elsewhere share a bucket with nobody else.");
        Debug.Assert(ItemsWaiting == 0 || _calledMark >= _mark, "What was called has not all been taken, and never the other way round.");
    }

    // Items of runs that wait elsewhere, in a bucket that only they use. One timer calls the first item when its tokens should be there, and the items take them
    // when they start. An item may start late, or never if its run is paused. So there are two marks: that of the tokens that were taken, which alone decides who
    // may start, and a later one, as if all items that were called had taken theirs at that moment. It decides who is called next. So those behind an item leave
    // its tokens to it, but do not wait for it for longer than it takes these to flow in.

    private static readonly TimeSpan RetryPause = TimeSpan.FromMilliseconds(10);

    // Under _lock.
    private LinkedList<ItemRateWaiter>? _items;
    private int _called;
    private double _calledMark;
    private long _lastNumber;
    private ITimer? _timer;
    private long _timerFor;

    private int ItemsWaiting => (_items?.Count ?? 0) + _called;

    /// <summary>Takes the tokens of an item that may start at once, or puts it at the end of the queue.</summary>
    /// <param name="waiter">What waits for it; null if it has its tokens.</param>
    internal bool TryEnter(out ItemRateWaiter? waiter)
    {
        ToldWaiters<ItemRateWaiter> called;
        waiter = null;
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (ItemsWaiting == 0)
            {
                _calledMark = _mark;
            }

            if (_items is not { Count: > 0 } && _calledMark - _reach <= now)
            {
                _mark = MarkAfter(_mark, now);
                _calledMark = MarkAfter(_calledMark, now);
            }
            else
            {
                waiter = new ItemRateWaiter(this) { Number = ++_lastNumber };
                (_items ??= []).AddLast(waiter.Node);
            }

            called = CallNeedsLock(now);
        }

        called.Tell();
        return waiter is null;
    }

    /// <summary>Takes the tokens of an item that was called, or makes it wait again, before all that came after it.</summary>
    internal bool TryEnter(ItemRateWaiter waiter)
    {
        ToldWaiters<ItemRateWaiter> called;
        bool taken;
        long now = Now;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (!waiter.IsCalled)
            {
                return false;
            }

            taken = TryTakeNeedsLock(now);
            UncallNeedsLock(waiter, taken);
            if (!taken)
            {
                waiter.WaitAgain();
                waiter.InsertInto(_items!);
            }

            called = CallNeedsLock(now);
        }

        called.Tell();
        return taken;
    }

    /// <summary>Takes an item out of the queue. Never throws: the item has ended, and its run may be ending too.</summary>
    internal void Drop(ItemRateWaiter waiter)
    {
        ToldWaiters<ItemRateWaiter> called;
        lock (_lock)
        {
            AssertInvariantsNeedsLock();
            if (waiter.IsCalled)
            {
                UncallNeedsLock(waiter, taken: false);
            }
            else
            {
                _items!.Remove(waiter.Node);
            }

            called = CallOthersNeedsLock();
        }

        called.Tell();
    }

    private ToldWaiters<ItemRateWaiter> CallOthersNeedsLock()
    {
        try
        {
            // Without anybody to call, the time does not matter.
            return CallNeedsLock(_items is { Count: > 0 } ? Now : 0);
        }
        catch (Exception)
        {
            CallLaterNeedsLock();
            return default;
        }
    }

    private void UncallNeedsLock(ItemRateWaiter waiter, bool taken)
    {
        waiter.IsCalled = false;
        _called--;

        // Rounding must not add up, so the marks are the same when no item has tokens to take. An item that started late may have moved its mark beyond the
        // other.
        _calledMark = _called == 0 ? _mark : Math.Max(_mark, taken ? _calledMark : _calledMark - _cost);
    }

    /// <summary>The last step of every change: calls the items whose time has come, and sets the timer for the next one.</summary>
    /// <param name="now">The time since the origin.</param>
    /// <returns>Those to be told, without the lock.</returns>
    private ToldWaiters<ItemRateWaiter> CallNeedsLock(long now)
    {
        ToldWaiters<ItemRateWaiter> called = default;
        if (_items is { Count: > 0 } items)
        {
            while (items.First is { } node && _calledMark - _reach <= now)
            {
                ItemRateWaiter waiter = node.Value;
                items.RemoveFirst();
                waiter.IsCalled = true;
                _called++;
                _calledMark = MarkAfter(_calledMark, now);
                called.Add(waiter);
            }

            SetTimerNeedsLock(items, now);
        }
        else
        {
            StopTimerNeedsLock();
        }

        return called;
    }

    private void SetTimerNeedsLock(LinkedList<ItemRateWaiter> items, long now)
    {
        if (items.Count == 0)
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
                        (TokenBucket)bucket!, static bucket => bucket.CallWaiters(), static (bucket, _) => bucket.CallWaitersAgain()),
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
    private void CallWaitersAgain()
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

    private void CallWaiters()
    {
        ToldWaiters<ItemRateWaiter> called;
        long now = Now;
        lock (_lock)
        {
            if (ItemsWaiting == 0)
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
/// A call in the queue of a <see cref="TokenBucket"/>. It does not ask for tokens before it is awaited. Then the thread that takes the tokens is the one that
/// continues with the call, and nothing comes in between.
/// </summary>
internal sealed class RateWaiter : IValueTaskSource<IDisposable?>
{
    private readonly TokenBucket _bucket;
    private readonly CancellationToken _cancellationToken;
    private ManualResetValueTaskSourceCore<IDisposable?> _core;

    public RateWaiter(TokenBucket bucket, CancellationToken cancellationToken)
    {
        _bucket = bucket;
        _cancellationToken = cancellationToken;
        Node = new LinkedListNode<RateWaiter>(this);
    }

    /// <summary>Its node in the queue.</summary>
    public LinkedListNode<RateWaiter> Node { get; }

    /// <summary>Completes when it is the first in the queue.</summary>
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
/// An item of a run in the queue of a <see cref="TokenBucket"/>. It waits elsewhere. It is called when its tokens should be there, and takes
/// them when it starts, which may be later: then others may have taken them, and it waits again, before all who came after it.
/// </summary>
/// <param name="bucket">The bucket.</param>
internal sealed class ItemRateWaiter(TokenBucket bucket) : QueueWaiter<ItemRateWaiter>(tellsAtOnce: true)
{
    public TokenBucket Bucket => bucket;

    /// <summary>Whether it has been called and has yet to take its tokens. Guarded by the bucket's lock.</summary>
    public bool IsCalled { get; set; }

    /// <summary>Takes the tokens, now that the item could start. Only for the caller that made it.</summary>
    /// <returns>False if it has to wait for <see cref="QueueWaiter{TWaiter}.Served"/> again.</returns>
    public bool TryEnter() => bucket.TryEnter(this);

    /// <summary>The item will not start. Called at most once, and not after the tokens were taken.</summary>
    public void Drop() => bucket.Drop(this);
}

/// <summary>
/// How many calls per second, and how many at once; or, in the option <c>RateLimit</c> of a run or a chain, a limit that is shared. Immutable.
/// </summary>
/// <remarks>
/// The values are checked when a <see cref="TokenBucket"/> is created from them. A <see cref="TokenBucket"/> and the limits of
/// <see cref="RateLimits.ByKey{TItem, TKey}"/> convert to options, so the option <c>RateLimit</c> takes them; for a limit of your own, see
/// <see cref="Shared(IRateLimit)"/>. Such options have no values of their own.
/// </remarks>
[SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "The options that they are set in name them.")]
public sealed record RateLimitOptions
{
    // The bucket counts time in a double, which must be able to hold the time of each call. A rate below is no rate: one call in 31,000 years.
    private const double MostSecondsAnOperation = 1e12;

    private static readonly RateLimitOptions Usual = new();

    // Null until somebody sets it, so that it follows a rate that is set later, in a copy too.
    private readonly double? _burst;

    /// <summary>How many tokens per second flow into the bucket.</summary>
    /// <value>A finite number greater than 0, at least a 1e-12th of <see cref="TokensPerOperation"/>. The default is 100.</value>
    public double TokensPerSecond { get; init; } = 100;

    /// <summary>How many tokens the bucket holds, and so how many can be used at once after a pause. The bucket starts full.</summary>
    /// <value>
    /// A finite number, at least <see cref="TokensPerOperation"/>. While it is not set, it follows the rate: <see cref="TokensPerSecond"/>, what flows in during
    /// a second, but at least one call's <see cref="TokensPerOperation"/>.
    /// </value>
    /// <remarks>
    /// With 10 tokens per second and no burst of its own, 10 calls start at once and 10 more during the first second; each later second has 10. With a burst of
    /// 1, they start one by one, each a tenth of a second after the last, from the first second on.
    /// </remarks>
    public double BurstCapacity
    {
        get => _burst ?? Math.Max(TokensPerSecond, TokensPerOperation);
        init => _burst = value;
    }

    /// <summary>How many tokens one call takes.</summary>
    /// <value>A finite number greater than 0. The default is 1.</value>
    public double TokensPerOperation { get; init; } = 1;

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Buckets of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name { get; init; }

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Whether these are no values but a limit that is shared: a <see cref="TokenBucket"/>, another <see cref="IRateLimit"/> or one for each key.</summary>
    public bool IsShared => Instance is not null;

    /// <summary>The limit that is shared, an <see cref="IRateLimit"/> or <see cref="RateLimits"/>; null if these are values.</summary>
    internal object? Instance { get; private init; }

    /// <summary>Shares a rate limit of any kind: <c>RateLimit = RateLimitOptions.Shared(limit)</c>.</summary>
    /// <param name="limit">The limit. A <see cref="TokenBucket"/> needs no call: <c>RateLimit = bucket</c>.</param>
    /// <returns>What the option <c>RateLimit</c> of runs and chains takes.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="limit"/> is <see langword="null"/>.</exception>
    public static RateLimitOptions Shared(IRateLimit limit)
    {
        ArgumentNullException.ThrowIfNull(limit);
        return new RateLimitOptions { Instance = limit };
    }

    /// <summary>Shares a token bucket.</summary>
    /// <param name="bucket">The bucket, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(bucket))]
    public static implicit operator RateLimitOptions?(TokenBucket? bucket) => bucket is null ? null : new RateLimitOptions { Instance = bucket };

    /// <summary>Takes a limit for each key.</summary>
    /// <param name="limits">The limits, or <see langword="null"/>.</param>
    [return: NotNullIfNotNull(nameof(limits))]
    public static implicit operator RateLimitOptions?(RateLimits? limits) => limits is null ? null : new RateLimitOptions { Instance = limits };

    /// <summary>Checks what the option <c>RateLimit</c> is set to.</summary>
    [StackTraceHidden]
    internal void ValidateSetting()
    {
        if (!IsShared)
        {
            Validate();
        }
        else if (TokensPerSecond != Usual.TokensPerSecond || _burst is not null || TokensPerOperation != Usual.TokensPerOperation || Name is not null
            || TimeProvider != Usual.TimeProvider)
        {
            throw new ArgumentException("RateLimit is a limit that is shared, which has its own values: set them where it is made.", "RateLimit");
        }
    }

    /// <summary>Checks the values of a limit to be made.</summary>
    [StackTraceHidden]
    internal void Validate()
    {
        if (IsShared)
        {
            throw new ArgumentException("A rate limit is made from values, and these are a limit that is shared: use that one.");
        }

        Require.Positive(TokensPerSecond, nameof(TokensPerSecond));
        Require.Positive(TokensPerOperation, nameof(TokensPerOperation));
        Require.Positive(BurstCapacity, nameof(BurstCapacity));
        if (BurstCapacity < TokensPerOperation)
        {
            throw new ArgumentOutOfRangeException(
                nameof(BurstCapacity), BurstCapacity, $"{nameof(BurstCapacity)} must be at least {nameof(TokensPerOperation)}, which is {TokensPerOperation}.");
        }

        if (TokensPerOperation / TokensPerSecond > MostSecondsAnOperation)
        {
            throw new ArgumentOutOfRangeException(
                nameof(TokensPerSecond),
                TokensPerSecond,
                $"{nameof(TokensPerSecond)} must be at least 1E-12 times {nameof(TokensPerOperation)}, which is {TokensPerOperation}.");
        }

        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

/// <summary>Paces calls: Weir's own <see cref="TokenBucket"/>, or anything else that admits calls one by one.</summary>
/// <remarks>Set one of your own as <c>RateLimit = RateLimitOptions.Shared(limit)</c>.</remarks>
public interface IRateLimit
{
    /// <summary>Waits until a call may be made.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>
    /// What to dispose when the call has ended, or <see langword="null"/>. Await it once and without delay: until then, a waiting call may hold up those behind
    /// it.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="RateLimitRejectedException">The rate limit rejects the call.</exception>
    ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken);
}

/// <summary>The call was not made, because the rate limiter rejected it. <see cref="TokenBucket"/> never rejects a call; it makes it wait.</summary>
public sealed class RateLimitRejectedException : Exception
{
    /// <summary>Creates the exception.</summary>
    public RateLimitRejectedException()
        : this((TimeSpan?)null)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public RateLimitRejectedException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public RateLimitRejectedException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="retryAfter">How long to wait before another attempt, according to the limiter.</param>
    public RateLimitRejectedException(TimeSpan? retryAfter)
        : base("The rate limiter refused the call.") => RetryAfter = retryAfter;

    /// <summary>Creates the exception of a call whose time would be up before its tokens come.</summary>
    internal RateLimitRejectedException(TimeSpan retryAfter, TimeSpan left)
        : base($"The call was not made: it would have waited {retryAfter} for its tokens, and {left} of its time was left.") => RetryAfter = retryAfter;

    /// <summary>How long to wait before another attempt, from the rejection; <see langword="null"/> if the limiter does not say.</summary>
    public TimeSpan? RetryAfter { get; }
}

/// <summary>A rate limit for each key, such as each customer or server.</summary>
/// <remarks>
/// <para>
/// Create it with <see cref="ByKey{TItem, TKey}"/>, and pass the same instance to everything that shares it. All members are thread-safe.
/// </para>
/// <para>
/// Its memory is bounded: when there are many keys, those that are idle are forgotten, and start anew if they come back. A bucket is idle when it is full
/// again, so no rate is exceeded.
/// </para>
/// </remarks>
public abstract class RateLimits : IMeteredPolicy
{
    private protected RateLimits()
    {
    }

    /// <summary>How many keys are known; 0 if they are made with <see cref="Of"/>.</summary>
    public abstract int Count { get; }

    /// <summary>What metrics call all of them together: <see cref="RateLimitOptions.Name"/>.</summary>
    public string? Name { get; private init; }

    /// <summary>The type of the items that have the keys, for messages.</summary>
    internal abstract Type ItemType { get; }

    void IMeteredPolicy.AddTo(PolicyCounts counts) => counts.AddRate(CountWaiting());

    LiveEntry IMeteredPolicy.Show() => PolicyCounts.Rate(this, nameof(RateLimits), CountWaiting());

    /// <summary>How many calls wait.</summary>
    internal abstract int CountWaiting();

    /// <summary>Uses a limiter of another kind, which knows by itself which items share a limit.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <param name="enter">
    /// Waits until the call of an item may be made, as <see cref="IRateLimit.EnterAsync"/> does. Called for each attempt, from several threads at once.
    /// </param>
    /// <returns>The rate limits. An item of a run waits for them with its worker, unlike for those of <see cref="ByKey"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="enter"/> is <see langword="null"/>.</exception>
    public static RateLimits Of<TItem>(Func<TItem, CancellationToken, ValueTask<IDisposable?>> enter)
    {
        ArgumentNullException.ThrowIfNull(enter);
        return new RateLimitsOfItems<TItem>(enter);
    }

    /// <summary>Creates the rate limits.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys.</typeparam>
    /// <param name="key">
    /// Returns the key of an item. Called for each attempt, from several threads at once. An exception from it, or from the comparer, is the item's failure.
    /// </param>
    /// <param name="options">The options of each bucket; <see langword="null"/> for the defaults.</param>
    /// <param name="comparer">Compares keys, from several threads at once; <see langword="null"/> for the default comparer.</param>
    /// <returns>The instances, made when their keys first occur.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range.</exception>
    public static RateLimits<TKey> ByKey<TItem, TKey>(
        Func<TItem, TKey> key, RateLimitOptions? options = null, IEqualityComparer<TKey>? comparer = null)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(key);
        options ??= new RateLimitOptions();
        options.Validate();
        RateLimitsByKey<TItem, TKey> limits = new(key, () => new TokenBucket(options, isShared: false), comparer) { Name = options.Name };
        PolicyRegistry.Add(limits);
        return limits;
    }
}

/// <summary>The rate limits with the type of their keys: each can be looked up, and tells when it admits a call again.</summary>
/// <typeparam name="TKey">The type of the keys.</typeparam>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The usual word.")]
public abstract class RateLimits<TKey> : RateLimits
    where TKey : notnull
{
    private protected RateLimits()
    {
    }

    /// <summary>The token bucket of a key, which is made, full, if the key is new.</summary>
    /// <param name="key">The key.</param>
    /// <returns>
    /// The bucket. Look it up again instead of keeping it: when there are many keys, one that is full again is forgotten. One that calls have taken tokens from
    /// or wait for is not.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    public abstract TokenBucket Get(TKey key);

    /// <summary>All keys that are known now, with their token buckets, in no order.</summary>
    /// <returns>A copy.</returns>
    public abstract IReadOnlyList<KeyValuePair<TKey, TokenBucket>> GetAll();
}

/// <summary>The instances of <see cref="RateLimits"/>, with the types of item and key.</summary>
internal sealed class RateLimitsByKey<TItem, TKey> : RateLimits<TKey>, IKeyed<TItem, TokenBucket>
    where TKey : notnull
{
    private readonly Func<TItem, TKey> _key;
    private readonly KeyTable<TKey, TokenBucket> _table;

    public RateLimitsByKey(Func<TItem, TKey> key, Func<TokenBucket> make, IEqualityComparer<TKey>? comparer)
    {
        _key = key;
        _table = new KeyTable<TKey, TokenBucket>(make, static bucket => bucket.IsFull, comparer);
    }

    public override int Count => _table.Count;

    public override TokenBucket Get(TKey key) => _table.Get(key);

    public override IReadOnlyList<KeyValuePair<TKey, TokenBucket>> GetAll() => _table.Entries();

    internal override Type ItemType => typeof(TItem);

    internal override int CountWaiting() => _table.Policies().Sum(static bucket => bucket.Waiting);

    public KeyUse<TokenBucket> Use(TItem item) => _table.Use(_key(item));
}

/// <summary>A limiter of another kind, which has keys of its own.</summary>
internal sealed class RateLimitsOfItems<TItem>(Func<TItem, CancellationToken, ValueTask<IDisposable?>> enter) : RateLimits, IItemRateLimits<TItem>
{
    public override int Count => 0;

    internal override Type ItemType => typeof(TItem);

    internal override int CountWaiting() => 0;

    public IRateLimit Of(TItem item) => new ItemRateLimit<TItem>(enter, item);
}

/// <summary>Rate limits that are no <see cref="TokenBucket"/>, for each item one.</summary>
internal interface IItemRateLimits<in TItem>
{
    IRateLimit Of(TItem item);
}

/// <summary>The limit of one item, of a limiter that knows by itself which items share one. Two of the same item are equal.</summary>
internal sealed record ItemRateLimit<TItem>(Func<TItem, CancellationToken, ValueTask<IDisposable?>> Enter, TItem Item) : IRateLimit
{
    public ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken) => Enter(Item, cancellationToken);
}
