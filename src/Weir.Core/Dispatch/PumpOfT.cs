using System.Runtime.CompilerServices;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>A run of a source through a call into a sink.</summary>
internal sealed class Pump<TItem, TResult, TPending, TCall, TSink> : Pump
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
    where TSink : struct, ISink<TResult>
{
    // One field for both: it costs each run as many bytes as it has fields.
    public Source<TItem> Source => Unsafe.As<Source<TItem>>(Items);

    public TCall Call;
    public TSink Sink;

    /// <summary>Decides what becomes of failed calls before they count, or null.</summary>
    public readonly IRecovery<TResult>? Recovery;

    /// <summary>
    /// Whether a worker keeps its item: a recovery may need it again, and a result that comes late must not be disposed of if it is the item itself.
    /// </summary>
    public bool KeepsItems => Recovery is not null || (IsGuarded && DiscardedResult<TResult>.MayBeDisposable);

    /// <summary>The time limits of its items and of their attempts.</summary>
    public override ItemLimits Limits => new(Settings.TimeProvider, Settings.PerItemTimeout, Recovery?.AttemptTimeout);

    // Created for the first item that waits, because most runs with retries need none.
    private DelayQueue<TItem>? _delays;

    public Pump(Source<TItem> source, TCall call, TSink sink, PumpSettings settings, IRecovery<TResult>? recovery = null)
        : base(source, settings, attemptsAreTimed: recovery?.AttemptTimeout is not null)
    {
        Recovery = recovery;
        Parks = Orders is null && default(TPending).CanBeParked && recovery is null && !settings.WatchesPauses && settings.Adaptive is null
            && settings.Pilot is null && source is IndexedSource<TItem> && source.KnownCount <= settings.Limit;
        Call = call;
        Sink = sink;
        source.CancellationToken = Orders is not null && TakesTurns ? ReadingToken(Orders) : Token;
    }

    // Of all runs of such items, results and calls: a hint, which any of them may change.
    private static bool _itemsLasted;

    protected override bool ItemsLasted
    {
        get => Volatile.Read(ref _itemsLasted);
        set => Volatile.Write(ref _itemsLasted, value);
    }

    protected override bool IsAtCeiling => Source.NextIndex >= Ceiling && !Source.HasStash;

    /// <summary>Items at or beyond this index may not start yet. While too many items wait for another attempt, no new item may start.</summary>
    public long Ceiling => HasBacklog ? 0 : Sink.Ceiling;

    protected override PumpWorker CreateWorker() => new PumpWorker<TItem, TResult, TPending, TCall, TSink>(this);

    protected override void Complete(CancellationToken? cancelledBy, FailureLog? failures)
    {
        try
        {
            Exception? deadline = StoppedAs == ItemStatus.TimedOut ? StoppedError : null;
            Sink.Complete(new RunEnd(cancelledBy, failures, Source.NextIndex, Source.LeftOver(), deadline));
        }
        catch (Exception e)
        {
            CompleteBroken(e);
        }
    }

    public override Exception AttemptTimedOut(int attempt) => Recovery!.AttemptTimedOut(attempt);

    public override void GiveUpParked(long index, Task call)
    {
        Call.GivenUp(default, index);
        try
        {
            call.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => Observe(index, call));
        }
        catch (Exception)
        {
            // There is no memory to observe it with.
        }
    }

    public override void EndUnsuccessful(long index, ItemStatus status, Exception? error) => Sink.Unsuccessful(index, status, error);

    public override void EndParked(long index, Task call, bool isOnOwnThread)
    {
        try
        {
            Sink.Succeeded(index, ResultOf(call));
        }
        catch (Exception e)
        {
            if (TryTakeOverParked(e) is PumpWorker<TItem, TResult, TPending, TCall, TSink> worker)
            {
                worker.FailParked(index, e, isOnOwnThread);
                return;
            }
        }

        ParkedSucceeded(isOnOwnThread);
    }

    public override void LoseParked(long index, Task call, Exception error)
    {
        EngineFailed(error);
        Observe(index, call);
        ParkedSucceeded(isOnOwnThread: false);
    }

    /// <summary>The result of a call that was parked and has ended. Which of the two it is, the compiler knows.</summary>
    private static TResult ResultOf(Task call)
    {
        if (typeof(TPending) != typeof(PendingNothing))
        {
            return Unsafe.As<Task<TResult>>(call).GetAwaiter().GetResult();
        }

        call.GetAwaiter().GetResult();
        return default!;
    }

    /// <summary>The result of a call that was given up is discarded; its exception does not count as unobserved.</summary>
    private void Observe(long index, Task call)
    {
        try
        {
            TResult late = ResultOf(call);
            if (DiscardedResult<TResult>.MayBeDisposable)
            {
                DiscardedResult.Drop(((IndexedSource<TItem>)Source).At(index), late);
            }
        }
        catch (Exception)
        {
            // The item already has its outcome.
        }
    }

    protected override void CompleteBroken(Exception error) => Sink.Complete(RunEnd.Broken(error));

    /// <summary>Keeps an item until its next attempt.</summary>
    /// <param name="item">The item.</param>
    /// <param name="index">Its index.</param>
    /// <param name="repetition">What it brings along then.</param>
    /// <param name="dueAt">When it comes back at the latest, as a timestamp of the run's clock.</param>
    /// <param name="until">What brings it back before that, if anything does.</param>
    /// <returns>False when the run is over.</returns>
    public bool TryDelay(TItem item, long index, Repetition repetition, long dueAt, Task? until)
    {
        Chunk<TItem> chunk = default;
        chunk.SetSingle(item, index, repetition);
        WaitBegins(repetition.Kind, repetition.First);

        // Counted first, so that the run does not end while no worker and no queue has the item.
        CountDelayed();
        if (Delays().TryAdd(chunk, dueAt, until))
        {
            return true;
        }

        OnDue(1);
        return false;
    }

    // A worker that asks for the queue is in the run, so the run cannot end meanwhile and leave the queue open.
    private DelayQueue<TItem> Delays()
    {
        if (Volatile.Read(ref _delays) is { } delays)
        {
            return delays;
        }

        DelayQueue<TItem> made = new(Source, Settings.TimeProvider, OnDue, this);
        return Interlocked.CompareExchange(ref _delays, made, null) ?? made;
    }

    protected override void AddTo(ref RunSample sample)
    {
        // Workers claim from a source of known length by adding to its position, which may move it beyond the end.
        long claimed = Source.NextIndex;
        sample.Claimed = Source.KnownCount >= 0 ? Math.Min(claimed, Source.KnownCount) : claimed;
        sample.Unread = Source.Unread;
        Call.AddTo(ref sample);
        if (Volatile.Read(ref _delays) is { } delays)
        {
            (sample.WaitingForCircuit, sample.WaitingForPermit, sample.WaitingForRate) = delays.Kinds;
        }

        sample.Undelivered = Sink.Undelivered(sample.Succeeded + sample.Unsuccessful);
    }

    protected override void CloseDelays()
    {
        if (Recovery is not null)
        {
            CloseDelayQueue();
        }

        Source.Close();
    }

    // Separate, so that runs without a recovery do not compile it.
    private void CloseDelayQueue()
    {
        // Waiting items, and due items that no worker has claimed. For both, only one thing matters: whether the item was ever attempted.
        int waited = 0;
        if (_delays is not null)
        {
            foreach (Chunk<TItem> item in _delays.Close())
            {
                Source.GiveBack(item);
                waited++;
            }
        }

        int attempted = 0;
        if (Source.HasStash)
        {
            foreach (long index in Source.TakeAttempted())
            {
                Sink.Unsuccessful(index, StoppedAs, StoppedError);
                attempted++;
            }
        }

        if (waited + attempted > 0)
        {
            EndDelayed(waited, attempted);
        }
    }
}

/// <summary>The settings of a run. Set when they are made, and never after that.</summary>
/// <remarks>Fields, here and in the engine's other inner types: each accessor is one more method that the first run of a process compiles.</remarks>
internal record PumpSettings
{
    /// <summary>How many items may be in flight at once.</summary>
    public required int Limit;

    /// <summary>Moves the limit during the run, or null.</summary>
    public AdaptiveController? Adaptive;

    public required ErrorMode ErrorMode;

    // Zero for none: a nullable would take twice the room.
    private readonly TimeSpan _perItemTimeout;

    /// <summary>How long one item may take, or null.</summary>
    public TimeSpan? PerItemTimeout
    {
        get => _perItemTimeout == TimeSpan.Zero ? null : _perItemTimeout;
        init => _perItemTimeout = value ?? TimeSpan.Zero;
    }

    /// <summary>
    /// Whether no code of the user gets an item's token, and nobody else keeps it for longer than its attempt. Then the items of a worker may have the same,
    /// one after the other, as long as it is not cancelled.
    /// </summary>
    public bool SharesTokens;

    /// <summary>The user's hook for a failed item: false stops the run.</summary>
    public Func<long, Exception, ValueTask<bool>>? OnError;

    /// <summary>The user's hook for when reading pauses because the consumer is behind.</summary>
    public Func<long, ValueTask>? OnThrottle;

    /// <summary>The user's hook for when reading resumes after a pause.</summary>
    public Func<long, ValueTask>? OnDrain;

    /// <summary>Whether pauses are counted even though there is no hook for them.</summary>
    public bool CountsPauses;

    /// <summary>Whether anybody wants to know of pauses.</summary>
    public bool WatchesPauses => CountsPauses || OnThrottle is not null || OnDrain is not null;

    /// <summary>Whether running items can be given up, which costs one atomic operation per item. Always true with an item timeout.</summary>
    public bool Guarded;

    /// <summary>The time limit of the run itself, or null. Only for guarded runs, and for one run.</summary>
    public RunDeadline? Deadline;

    /// <summary>Called once when all items of the run have ended, before the run itself ends.</summary>
    public Action? OnEnd;

    /// <summary>Called when the limit was raised, or null.</summary>
    public Action? OnLimitRaised;

    /// <summary>Measures the items and moves the limit during the run, or null. Only for guarded runs.</summary>
    public IRunPilot? Pilot;

    /// <summary>Who is told of each wait, or null.</summary>
    public WaitListener? Waits;

    /// <summary>What the caller called, for observers; null if the run is not to be seen.</summary>
    public string? Operation;

    /// <summary>What observers know the caller's own name and tags from.</summary>
    public IRunAbout? About;

    public TimeProvider TimeProvider = TimeProvider.System;

    public Executor Executor = PoolExecutor.Instance;
}

/// <summary>
/// What a run does with one item. A struct given as a type parameter, so that the run without features compiles to nothing but
/// the user's delegate.
/// </summary>
/// <typeparam name="TItem">The items.</typeparam>
/// <typeparam name="TPending">How the call represents that it has not completed yet.</typeparam>
internal interface ICall<in TItem, TPending>
{
    /// <summary>
    /// Whether the call writes its large pending struct directly to the worker's copy, usually only a part of it, because returning it would cost more than
    /// everything else.
    /// </summary>
    bool UsesInvokeInto { get; }

    /// <summary>Starts the call.</summary>
    /// <param name="item">The item.</param>
    /// <param name="index">Its index.</param>
    /// <param name="isFirst">Whether this is the item's first attempt.</param>
    /// <param name="cancellationToken">Cancelled when the run stops or the attempt's time limit passes.</param>
    TPending Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken);

    /// <summary>Starts the call, and writes it to <paramref name="pending"/>. Only when <see cref="UsesInvokeInto"/>.</summary>
    void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref TPending pending);

    /// <summary>
    /// An item was given up inside this call, which may never end: what the call holds must not wait for its end. Called once, on any thread, perhaps before
    /// the call holds anything or after it has ended.
    /// </summary>
    /// <param name="item">The item, if the run has a recovery.</param>
    /// <param name="index">Its index.</param>
    void GivenUp(TItem? item, long index);

    /// <summary>Adds what the call knows of the items inside it, and of what is around them.</summary>
    void AddTo(ref RunSample sample);
}

/// <summary>A started call: a ValueTask of one kind or another. Consume it only once.</summary>
internal interface IPending<out TResult>
{
    bool IsCompleted { get; }

    bool IsCompletedSuccessfully { get; }

    TResult GetResult();

    /// <summary>
    /// What the item has to wait for before its call can begin; null if the call has begun. A call that has not begun is complete, but not successfully.
    /// Where no call ever waits, this is a constant, also for the compiler.
    /// </summary>
    Task? Until { get; }

    /// <summary>What <see cref="Until"/> is, when there is one.</summary>
    WaitKind WaitsFor { get; }

    /// <summary>Whether nothing but its end is left to wait for, so that it may be parked.</summary>
    bool CanBeParked { get; }

    /// <summary>The call without what is to be done at its end, as it is parked. After <see cref="BecomeTask"/>.</summary>
    Task AsTask();

    /// <summary>
    /// Makes it one that calls back exactly once, before the first wait for it: a task source of the user need not, see <see cref="CallsBackOnce"/>. It may
    /// throw what the source throws.
    /// </summary>
    void BecomeTask();

    /// <summary>Calls back once, without the execution context and without a captured context. After <see cref="BecomeTask"/>.</summary>
    void OnCompleted(Action continuation);
}

/// <summary>Calls only the user's selector.</summary>
internal readonly struct SelectorCall<TItem, TResult>(Func<TItem, CancellationToken, ValueTask<TResult>> selector)
    : ICall<TItem, PendingResult<TResult>>
{
    private readonly Func<TItem, CancellationToken, ValueTask<TResult>> _selector = selector;

    public bool UsesInvokeInto => false;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public PendingResult<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) => new(_selector(item, cancellationToken));

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PendingResult<TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(TItem? item, long index)
    {
    }

    public void AddTo(ref RunSample sample)
    {
    }
}

/// <summary>Calls only the user's action.</summary>
internal readonly struct ActionCall<TItem>(Func<TItem, CancellationToken, ValueTask> action) : ICall<TItem, PendingNothing>
{
    private readonly Func<TItem, CancellationToken, ValueTask> _action = action;

    public bool UsesInvokeInto => false;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public PendingNothing Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) => new(_action(item, cancellationToken));

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PendingNothing pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(TItem? item, long index)
    {
    }

    public void AddTo(ref RunSample sample)
    {
    }
}

/// <summary>A started call that ends with a result.</summary>
internal struct PendingResult<TResult>(ValueTask<TResult> task) : IPending<TResult>
{
    private ValueTask<TResult> _task = task;

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly TResult GetResult() => _task.GetAwaiter().GetResult();

    public readonly void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public readonly Task? Until => null;

    public readonly WaitKind WaitsFor => default;

    public readonly bool CanBeParked => true;

    public readonly Task AsTask() => _task.AsTask();

    public void BecomeTask() => _task = new ValueTask<TResult>(_task.AsTask());
}

/// <summary>A started call that ends without a result.</summary>
internal struct PendingNothing(ValueTask task) : IPending<Nothing>
{
    private ValueTask _task = task;

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly Nothing GetResult()
    {
        _task.GetAwaiter().GetResult();
        return default;
    }

    public readonly void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    public readonly Task? Until => null;

    public readonly WaitKind WaitsFor => default;

    public readonly bool CanBeParked => true;

    public readonly Task AsTask() => _task.AsTask();

    public void BecomeTask() => _task = new ValueTask(_task.AsTask());
}

/// <summary>
/// Calls of the user whose end can be waited for with something that is used again for other items. A task calls back exactly once. A task source of the user
/// may do so again at any time, or throw although it does: waited for directly, it would continue another item.
/// </summary>
/// <remarks>Costs nothing for a call that has completed or is a task. A task source gets a task.</remarks>
internal static class CallsBackOnce
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ValueTask<TResult> Of<TResult>(ValueTask<TResult> call) => call.IsCompleted ? call : new ValueTask<TResult>(call.AsTask());
}
