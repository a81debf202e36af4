using System.Collections;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Threading.Channels;
using Weir.Checkpoints;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Live;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;
using Weir.Observability;
using Weir.Operators;
using Weir.Policies;
using Weir.Resilience;

namespace Weir.Runtimes;

/// <summary>
/// The four runtimes are one: each call is a run of the engine. They differ in its threads and its limit, and in who moves these.
/// </summary>
/// <remarks>
/// <list type="bullet">
/// <item><description>Direct: one item in flight. The worker runs on its caller's thread, at the start and at each step of a stream (<see cref="CallerExecutor"/>).</description></item>
/// <item><description>Concurrent: a limit, on the thread pool.</description></item>
/// <item><description>Parallel: a limit, on threads of its own, as many at once.</description></item>
/// <item><description>
/// Auto: each call has a pilot. The workers measure the items of a chunk together (<c>ItemMeter</c>), and <c>AutoPilot</c> moves the run's limit and its executor's
/// threads. It knows no item and is tested without threads.
/// </description></item>
/// </list>
/// A call joins the <see cref="RuntimeCalls"/> before its run starts, and leaves them at the run's end. The runtime closes when they are empty; what outlives the
/// grace period is given up.
/// </remarks>
/// <param name="calls">The running calls of the runtime.</param>
/// <param name="executor">The threads.</param>
/// <param name="limit">How many items of a call may be in flight.</param>
/// <param name="eager">Whether a call starts with as many workers as it may have.</param>
/// <param name="options">The options of the runtime.</param>
/// <param name="policies">Its policies.</param>
internal sealed class PumpRuntime(
    RuntimeCalls calls, Executor executor, int limit, bool eager, RuntimeOptions options, RuntimePolicies policies)
{
    /// <summary>How many outcomes of a stream may be ready for its consumer; 0 if an item starts when its outcome is asked for.</summary>
    public int StreamCapacity { get; init; } = 1024;

    /// <summary>
    /// Makes a call whose limit and threads are moved while it goes on, from its operation, options, processor and count; null if there are no such calls.
    /// </summary>
    public Func<string, ProcessManyOptions, Delegate, int, RuntimeCall>? MakeCall { get; init; }

    /// <summary>Whether no control can raise the limit.</summary>
    public bool HasFixedLimit { get; init; }

    public Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
    {
        processOptions = calls.Check(items, processor, processOptions, typeof(TResult));
        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        return processOptions.Policies?.Resume is null
            ? StartMany(items, keys, processor, processOptions, out _, cancellationToken)
            : ResumeMany(items, keys, processor, processOptions, cancellationToken);
    }

    public IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput,
        ProcessManyOptions? processOptions,
        CancellationToken cancellationToken)
    {
        processOptions = calls.Check(items, processor, processOptions, typeof(TResult));
        ItemKeys<TItem>? keys = RuntimeSource.TakeKeys(ref items);
        return processOptions.Policies?.Resume is null
            ? Stream(items, keys, processor, orderedOutput, processOptions, cancellationToken)
            : ResumeStream(items, keys, processor, orderedOutput, processOptions, cancellationToken);
    }

    // Separate, as the next one, so that the start of other calls makes no closure.
    private ResumedStream<(int Index, ItemOutcome<TItem, TResult> Outcome), (int Index, ItemOutcome<TItem, TResult> Outcome)> ResumeStream<TItem, TResult>(
        IEnumerable<TItem> items,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken)
    {
        ParallelRunOptions resumed = processOptions.Policies!;
        ResumedRun.Check<TItem>(AwaitedItems<TItem>.Inner(items), resumed);
        policies.Of<TItem, TResult>(processOptions);
        return new ResumedStream<(int Index, ItemOutcome<TItem, TResult> Outcome), (int Index, ItemOutcome<TItem, TResult> Outcome)>(
            () =>
            {
                ResumeSession session = ResumedRun.Session<TItem>(AwaitedItems<TItem>.Inner(items), resumed, RuntimeSource.CountOf(items), hasBatches: false, options.TimeProvider);
                ProcessManyOptions run = processOptions with { Policies = resumed with { Resume = null, Session = session } };
                return (session, Stream(RuntimeSource.Left(items, session), keys, processor, orderedOutput, run, cancellationToken));
            },
            ResumedRun.DoneIndexOf,
            static outcome => outcome,
            cancellationToken);
    }

    private Task<ItemOutcome<TItem, TResult>[]> ResumeMany<TItem, TResult>(
        IEnumerable<TItem> items,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken)
    {
        policies.Of<TItem, TResult>(processOptions);
        ParallelRunOptions resumed = processOptions.Policies!;
        ResumeSession session = ResumedRun.Session<TItem>(AwaitedItems<TItem>.Inner(items), resumed, RuntimeSource.CountOf(items), hasBatches: false, options.TimeProvider);
        return ResumedRun.Of(
            session,
            resumed,
            run => StartMany(RuntimeSource.Left(items, session), keys, processor, processOptions with { Policies = run }, out _, cancellationToken),
            cancellationToken);
    }

    /// <summary>Runs the items of a call whose arguments have been checked.</summary>
    public Task<ItemOutcome<TItem, TResult>[]> StartMany<TItem, TResult>(
        IEnumerable<TItem> items,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions processOptions,
        out RuntimeCall? call,
        CancellationToken cancellationToken)
    {
        call = null;
        ParallelRunOptions? around = policies.Of<TItem, TResult>(processOptions);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<ItemOutcome<TItem, TResult>[]>(cancellationToken);
        }

        Source<TItem> source = RuntimeSource.Of(items, keys, out int count);
        if (count == 0)
        {
            return Task.FromResult<ItemOutcome<TItem, TResult>[]>([]);
        }

        OutcomeCompletion<TItem, TResult> completion = CompletionOf<TItem, TResult>(count, processOptions, around, options.TimeProvider);
        call = CallOf(nameof(ProcessManyAsync), processOptions, processor, count);
        PumpSettings settings = Settings(processOptions, around, call);
        if (count > 0)
        {
            OutcomeSink<TItem, TResult> sink = new(completion, new(source, keepsAll: true));
            Start(source, processor, sink, around, settings, call, processOptions, cancellationToken, default);
        }
        else
        {
            StartGrowing(source, processor, completion, around, settings, call, processOptions, cancellationToken);
        }

        return completion.Task;
    }

    /// <summary>The outcomes of a call whose arguments have been checked.</summary>
    private PumpStream<(int Index, ItemOutcome<TItem, TResult> Outcome)> Stream<TItem, TResult>(
        IEnumerable<TItem> items,
        ItemKeys<TItem>? keys,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken)
    {
        ParallelRunOptions? around = policies.Of<TItem, TResult>(processOptions);
        return new PumpStream<(int Index, ItemOutcome<TItem, TResult> Outcome)>(
            limit,
            StreamCapacity,
            orderedOutput,
            (output, enumeratorToken) =>
            {
                Source<TItem> source = RuntimeSource.Of(items, keys, out int count);
                RuntimeCall call = CallOf(nameof(ProcessManyStreamAsync), processOptions, processor, count);
                return StartStream(source, count, processor, output, around, call, processOptions, cancellationToken, enumeratorToken);
            },
            cancellationToken)
        {
            Unused = UnusedOfCall.IndexedOutcomes<TItem, TResult>(processOptions, around, options.TimeProvider),
        };
    }

    /// <summary>The end of a call whose outcomes are returned together.</summary>
    private static OutcomeCompletion<TItem, TResult> CompletionOf<TItem, TResult>(
        int count, ProcessManyOptions options, ParallelRunOptions? policies, TimeProvider time) =>
        UnusedOfCall.Outcomes<TItem, TResult>(options, policies, time) is { } unused
            ? new OwningOutcomeCompletion<TItem, TResult>(Math.Max(0, count), false, unused)
            : new OutcomeCompletion<TItem, TResult>(Math.Max(0, count));

    public Task CloseAsync() => calls.CloseAsync(options.GracePeriod, options.TimeProvider);

    private Pump StartStream<TItem, TResult>(
        Source<TItem> source,
        int count,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        StreamOutput<(int Index, ItemOutcome<TItem, TResult> Outcome)> output,
        ParallelRunOptions? around,
        RuntimeCall call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken enumeratorToken)
    {
        PumpSettings settings = Settings(processOptions, around, call);
        if (settings is ControlledSettings { MovesLimit: false } controlled)
        {
            settings = controlled with { OnLimit = limit => output.Widen(limit, StreamCapacity) };
        }

        OutcomeStreamSink<TItem, TResult> sink = new(output, count, new(source, keepsAll: false));
        return Start(source, processor, sink, around, settings, call, processOptions, cancellationToken, enumeratorToken);
    }

    // Separate, so that the first call of a process does not load what only a sequence needs.
    private void StartGrowing<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        OutcomeCompletion<TItem, TResult> completion,
        ParallelRunOptions? around,
        PumpSettings settings,
        RuntimeCall call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken)
    {
        GrowingOutcomeSink<TItem, TResult> sink = new(completion, new(source, keepsAll: true));
        Start(source, processor, sink, around, settings, call, processOptions, cancellationToken, default);
    }

    private Pump Start<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        TSink sink,
        ParallelRunOptions? around,
        PumpSettings settings,
        RuntimeCall call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken otherToken)
        where TSink : struct, ISink<TResult>
    {
        ParallelRunOptions policies = around ?? ParallelRunOptions.Default;
        if (RunObservation.IsWanted(policies))
        {
            return StartObserved(source, processor, sink, around, settings, call, processOptions, cancellationToken, otherToken);
        }

        Pump run = OperatorRun.Make(source, processor, sink, policies, OperatorRun.WithHooks(settings, policies), null);
        Start(run, call, source.KnownCount, processOptions, cancellationToken, otherToken);
        return run;
    }

    private Pump StartObserved<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        TSink sink,
        ParallelRunOptions? around,
        PumpSettings settings,
        RuntimeCall call,
        ProcessManyOptions processOptions,
        CancellationToken cancellationToken,
        CancellationToken otherToken)
        where TSink : struct, ISink<TResult>
    {
        ParallelRunOptions observed = (around ?? ParallelRunOptions.Default) with
        {
            MaxDegreeOfParallelism = limit,
            OperationName = processOptions.OperationName,
            Metrics = MetricsOptions.WithTags(around?.Metrics, processOptions.Tags),
            TimeProvider = options.TimeProvider,
        };
        return OperatorRun.StartObserved(
            source,
            processor,
            sink,
            observed,
            OperatorRun.WithHooks(settings, observed),
            null,
            call.Label,
            run => Start(run, call, source.KnownCount, processOptions, cancellationToken, otherToken));
    }

    // What a call with policies waits for outside of its items says nothing about them.
    private RuntimeCall CallOf(string operation, ProcessManyOptions processOptions, Delegate processor, int count) =>
        MakeCall is null || policies.AreSet(processOptions)
            ? new RuntimeCall(calls, operation, processOptions)
            : MakeCall(operation, processOptions, processor, count);

    private PumpSettings Settings(ProcessManyOptions processOptions, ParallelRunOptions? around, RuntimeCall call)
    {
        PumpSettings settings = call.Steer(PlainSettings(processOptions, around, call));
        return (processOptions.Control ?? options.Control ?? OperatorRun.LiveControl()) is { } control
            ? new ControlledSettings(settings, control) { MovesLimit = HasFixedLimit || settings.Pilot is not null }
            : settings;
    }

    private PumpSettings PlainSettings(ProcessManyOptions processOptions, ParallelRunOptions? around, RuntimeCall call) => new()
    {
        Limit = limit,
        ErrorMode = ErrorMode.BestEffort,
        PerItemTimeout = processOptions.PerItemTimeout ?? around?.PerItemTimeout,
        Guarded = true,
        TimeProvider = options.TimeProvider,
        Executor = executor,
        Deadline = processOptions.TotalTimeout is { } total ? new RunDeadline(total) : null,
        OnEnd = call.End,
        Operation = call.Operation,
        About = call,
        CountsPauses = RunObservation.IsMetered && StreamCapacity > 0,
    };

    private void Start(
        Pump run, RuntimeCall call, int count, ProcessManyOptions processOptions, CancellationToken cancellationToken, CancellationToken otherToken)
    {
        call.Begin(run);
        try
        {
            run.Start(eager ? Math.Clamp(count, 1, limit) : 1, cancellationToken, otherToken);
        }
        catch
        {
            call.End();
            throw;
        }
    }
}

/// <summary>
/// The running calls of a runtime. It knows when the last call has ended, and ends calls that outlive the grace period.
/// </summary>
internal sealed class RuntimeCalls
{
    private static readonly WeakList<RuntimeCalls> Live = new(static list => new LiveRuntimes(list));

    private readonly object _owner;
    private readonly Lock _lock = new();

    // Under _lock. The counts are those of the calls that have ended.
    private readonly List<RuntimeCall> _running = [];
    private TaskCompletionSource? _drained;
    private long _succeeded;
    private long _failed;
    private long _cancelled;
    private long _abandoned;

    // Atomic: set once, under _lock. A call that finds it clear is refused under the lock, if it comes too late.
    private volatile bool _closed;

    public RuntimeCalls(object owner)
    {
        _owner = owner;
        Live.Add(this);
    }

    /// <summary>The runtime.</summary>
    public object Owner => _owner;

    /// <summary>Whether it was disposed, and its last call has ended.</summary>
    public bool IsGone
    {
        get
        {
            lock (_lock)
            {
                return _closed && _running.Count == 0;
            }
        }
    }

    /// <summary>Whether it was disposed, so that no call begins.</summary>
    public bool IsClosed => _closed;

    public string? RuntimeName => (_owner as IExecutionRuntime)?.Name;

    public RuntimeStatistics Statistics
    {
        get
        {
            lock (_lock)
            {
                RunSample sum = default;
                foreach (RuntimeCall call in _running)
                {
                    RunSample sample = call.Sample();
                    sum.Succeeded += sample.Succeeded;
                    sum.Unsuccessful += sample.Unsuccessful;
                    sum.Cancelled += sample.Cancelled;
                    sum.InFlight += sample.InFlight;
                    sum.Abandoned += sample.Abandoned;
                }

                return new RuntimeStatistics
                {
                    ActiveCalls = _running.Count,
                    InFlight = sum.InFlight,
                    Succeeded = _succeeded + sum.Succeeded,
                    Failed = _failed + sum.Failed,
                    Cancelled = _cancelled + sum.Cancelled,
                    AbandonedWorkers = _abandoned + sum.Abandoned,
                };
            }
        }
    }

    /// <summary>Checks the arguments of a call.</summary>
    /// <returns>The call's options.</returns>
    /// <exception cref="ArgumentException">The results are tasks.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    [StackTraceHidden]
    public ProcessManyOptions Check(object items, object processor, ProcessManyOptions? options, Type results)
    {
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(processor);
        options ??= ProcessManyOptions.Default;
        options.Validate();
        TaskCalls.RefuseTasks(results, nameof(processor));

        // Whoever listens finds something to listen to.
        _ = RunObservation.IsMetered;
        ObjectDisposedException.ThrowIf(_closed, _owner);
        return options;
    }

    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    public void Add(RuntimeCall call)
    {
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_closed, _owner);
            call.Position = _running.Count;
            _running.Add(call);
        }
    }

    public void Remove(RuntimeCall call)
    {
        TaskCompletionSource? drained = null;
        lock (_lock)
        {
            int position = call.Position;
            if (position < 0)
            {
                return;
            }

            RuntimeCall last = _running[^1];
            _running[position] = last;
            last.Position = position;
            _running.RemoveAt(_running.Count - 1);
            call.Position = -1;

            RunSample sample = call.Sample();
            _succeeded += sample.Succeeded;
            _failed += sample.Failed;
            _cancelled += sample.Cancelled;
            _abandoned += sample.Abandoned;
            if (_closed && _running.Count == 0)
            {
                drained = _drained;
            }
        }

        drained?.TrySetResult();
    }

    /// <summary>Rejects further calls, waits for the running ones, and ends them after the grace period.</summary>
    public async Task CloseAsync(TimeSpan grace, TimeProvider time)
    {
        Task drained;
        lock (_lock)
        {
            _closed = true;
            _drained ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (_running.Count == 0)
            {
                _drained.TrySetResult();
            }

            drained = _drained.Task;
        }

        try
        {
            await drained.WaitAsync(grace, WatchTime.For(time)).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            RuntimeCall[] left;
            lock (_lock)
            {
                left = [.. _running];
            }

            foreach (RuntimeCall call in left)
            {
                call.GiveUp();
            }

            // This may be the watch's thread, on which the caller must not continue.
            await drained.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        }
    }
}

/// <summary>Reads the runtimes for snapshots, until they were disposed and their calls have ended.</summary>
internal sealed class LiveRuntimes(WeakList<RuntimeCalls> runtimes) : LiveSource
{
    public override void Read(LiveReading reading)
    {
        foreach ((RuntimeCalls calls, long since) in runtimes.Alive())
        {
            if (calls.IsGone)
            {
                continue;
            }

            RuntimeStatistics statistics = calls.Statistics;
            reading.Entries.Add(new LiveEntry
            {
                Id = LiveIds.Of(LiveKind.Runtime, calls.Owner),
                Kind = LiveKind.Runtime,
                Type = calls.Owner.GetType().Name,
                Name = calls.RuntimeName,
                State = calls.IsClosed ? LiveState.Stopping : statistics.ActiveCalls == 0 ? LiveState.Idle : LiveState.Running,
                Since = reading.At(TimeProvider.System, since),
                Done = statistics.Succeeded,
                Failed = statistics.Failed,
                Cancelled = statistics.Cancelled,
                InFlight = statistics.InFlight,
            });
        }
    }

    protected override IEnumerable<object> Targets() => runtimes.Alive().Select(static known => known.Item.Owner);
}

/// <summary>A running call of a runtime: a run of the engine, which can be given up, at its deadline or at the end of the runtime.</summary>
/// <param name="calls">The running calls of the runtime.</param>
/// <param name="operation">The method that was called.</param>
/// <param name="options">The options of the call.</param>
internal class RuntimeCall(RuntimeCalls calls, string operation, ProcessManyOptions options) : IMeasuredRun, IRunAbout
{
    // Atomic: 1 once the call has ended; the exchange lets it leave once.
    private int _ended;

    public Pump Run { get; private set; } = null!;

    public string Operation => operation;

    /// <summary>The index in the list of running calls, or -1. Guarded by the lock of <see cref="RuntimeCalls"/>.</summary>
    public int Position = -1;

    public RunLabel Label => RunLabel.Of(operation, calls.RuntimeName, options.OperationName, options.Tags);

    string? IRunAbout.Name => options.OperationName;

    object IRunAbout.Runtime => calls.Owner;

    long? IRunAbout.Total => options.Policies?.Progress?.Total;

    public RunSample Sample() => Run.Sample();

    /// <summary>Ends the call without waiting for running items, which are cancelled. No other item starts.</summary>
    public void GiveUp() => Run.Abort(ItemStatus.Cancelled, null);

    /// <summary>The settings of the run, where something moves its limit and its threads.</summary>
    public virtual PumpSettings Steer(PumpSettings settings) => settings;

    /// <summary>Adds the call to the running calls.</summary>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    public virtual void Begin(Pump run)
    {
        Run = run;
        calls.Add(this);
    }

    /// <summary>The run has ended, or could not start: leaves the running calls. May be called again.</summary>
    public void End()
    {
        if (Interlocked.Exchange(ref _ended, 1) == 0)
        {
            Leave();
        }
    }

    /// <summary>Leaves the running calls. Called once.</summary>
    protected virtual void Leave() => calls.Remove(this);
}

/// <summary>Reads the items of a call: a list in place, by index, whatever kind of list it is, and any other sequence while the call runs.</summary>
internal static class RuntimeSource
{
    // Of a sequence, which may be endless: as far as a stream reads ahead. Of items that are in memory, any number may wait for their key.
    private const int MostWaiting = 1024;

    /// <summary>The keys of the items, which are then those alone; null if they have none.</summary>
    /// <exception cref="ArgumentException">The keys are those of batches.</exception>
    public static ItemKeys<T>? TakeKeys<T>(ref IEnumerable<T> items)
    {
        if (items is not PartitionedItems<T> keyed)
        {
            return null;
        }

        items = keyed.Items;
        return keyed.Keys.Items;
    }

    /// <param name="items">The items.</param>
    /// <param name="keys">Their keys; null for none.</param>
    /// <param name="count">How many there are; negative if that is not known before the end.</param>
    public static Source<T> Of<T>(IEnumerable<T> items, ItemKeys<T>? keys, out int count)
    {
        Source<T> source = Of(items, out count);
        return keys is null ? source : keys.Lanes(source, count < 0 ? MostWaiting : int.MaxValue);
    }

    /// <summary>How many items there are; negative if that is not known before the end.</summary>
    public static int CountOf<T>(IEnumerable<T> items)
    {
        _ = Of(items, out int count);
        return count;
    }

    /// <summary>The items that are not done.</summary>
    public static IEnumerable<T> Left<T>(IEnumerable<T> items, ResumeSession session) =>
        items is AwaitedItems<T> awaited ? awaited.Left(session) : session.Filter(items);

    private static Source<T> Of<T>(IEnumerable<T> items, out int count)
    {
        if (items is IReadOnlyList<T> list)
        {
            count = list.Count;
            return count == 0 ? SourceOf.Enumerable(items) : Of(list, count);
        }

        Source<T> source = SourceOf.Enumerable(items);
        count = source.KnownCount;
        return source;
    }

    private static Source<T> Of<T>(IReadOnlyList<T> items, int count)
    {
        Source<T> source = SourceOf.Enumerable(items);
        return source.KnownCount == count ? source : new LazySource<T>(Indexed(items, count));
    }

    // For a list that does not enumerate as many items as it counts, the indexer decides.
    private static IEnumerable<T> Indexed<T>(IReadOnlyList<T> items, int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return items[i];
        }
    }
}

/// <summary>
/// An asynchronous sequence or a channel, for runtimes: those of this library read it as what it is, and hold no thread while they wait for its next item. Any
/// other <see cref="IExecutionRuntime"/> gets a sequence that blocks for it.
/// </summary>
internal sealed class AwaitedItems<T> : IEnumerable<T>, IReadAsSource<T>
{
    private readonly IAsyncEnumerable<T>? _items;
    private readonly ChannelReader<T>? _channel;

    private AwaitedItems(IAsyncEnumerable<T>? items, ChannelReader<T>? channel)
    {
        _items = items;
        _channel = channel;
    }

    /// <summary>Items of an asynchronous sequence, with the keys that they may have.</summary>
    public static IEnumerable<T> Of(IAsyncEnumerable<T> items)
    {
        ArgumentNullException.ThrowIfNull(items);
        return items is PartitionedAsyncItems<T> keyed
            ? new PartitionedItems<T>(new AwaitedItems<T>(keyed.Items, keyed.Channel), keyed.Keys)
            : new AwaitedItems<T>(items, null);
    }

    /// <summary>Items of a channel.</summary>
    public static IEnumerable<T> Of(ChannelReader<T> items)
    {
        ArgumentNullException.ThrowIfNull(items);
        return new AwaitedItems<T>(null, items);
    }

    /// <summary>The sequence or channel itself, if the items are of one.</summary>
    public static object Inner(IEnumerable<T> items) => items is AwaitedItems<T> awaited ? awaited._items ?? (object)awaited._channel! : items;

    /// <summary>The items that are not done.</summary>
    public AwaitedItems<T> Left(ResumeSession session) => new(session.Filter(_items ?? _channel!.ReadAllAsync(CancellationToken.None)), null);

    public Source<T> MakeSource() => _channel is null ? SourceOf.AsyncEnumerable(_items!) : SourceOf.Channel(_channel);

    public IEnumerator<T> GetEnumerator() => (_items ?? _channel!.ReadAllAsync(CancellationToken.None)).ToBlockingEnumerable().GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}

/// <summary>
/// Runs the worker of a call of the <see cref="DirectRuntime"/> on its caller's thread, at the start and at each step of a stream; what continues later
/// continues on the pool.
/// </summary>
internal sealed class CallerExecutor : Executor
{
    public static readonly CallerExecutor Instance = new();

    public override int Threads => 1;

    public override bool CanRunOnCurrentThread => PoolExecutor.Instance.CanRunOnCurrentThread;

    // The caller has no task to wait for yet, or a stream whose step has not returned. So none of its code runs at the end.
    public override bool CanEndOnCurrentThread => true;

    public override bool RunsForConsumerHere => true;

    public override long Quantum => long.MaxValue;

    public override void Queue(IThreadPoolWorkItem worker) => PoolExecutor.Instance.Queue(worker);

    public override void QueueUrgently(IThreadPoolWorkItem worker) => PoolExecutor.Instance.QueueUrgently(worker);

    public override void QueueNext(IThreadPoolWorkItem worker) => worker.Execute();

    public override void QueueForConsumer(IThreadPoolWorkItem worker) => worker.Execute();
}

/// <summary>
/// What disposes of the results that the caller of a runtime does not get; null unless the options ask for it and the results may be disposable.
/// </summary>
internal static class UnusedOfCall
{
    /// <summary>What disposes of the results of a call whose outcomes are an array.</summary>
    /// <param name="options">The options of the call.</param>
    /// <param name="policies">Its policies, or null.</param>
    /// <param name="time">The clock of the runtime.</param>
    public static UnusedResults<ItemOutcome<TItem, TResult>>? Outcomes<TItem, TResult>(
        ProcessManyOptions options, ParallelRunOptions? policies, TimeProvider time) =>
        UnusedOf.Asked<TResult>(IsSet(options, policies)) ? new(static outcome => UnusedOf.ResultOf(outcome), PatienceOf(options, policies), time) : null;

    /// <summary>What disposes of the results of a call whose outcomes are a stream.</summary>
    /// <inheritdoc cref="Outcomes"/>
    public static UnusedResults<(int Index, ItemOutcome<TItem, TResult> Outcome)>? IndexedOutcomes<TItem, TResult>(
        ProcessManyOptions options, ParallelRunOptions? policies, TimeProvider time) =>
        UnusedOf.Asked<TResult>(IsSet(options, policies)) ? new(static item => UnusedOf.ResultOf(item.Outcome), PatienceOf(options, policies), time) : null;

    private static bool IsSet(ProcessManyOptions options, ParallelRunOptions? policies) =>
        options.DisposeUnusedResults || policies is { Output.DisposeUnusedResults: true };

    private static TimeSpan? PatienceOf(ProcessManyOptions options, ParallelRunOptions? policies) =>
        options.PerItemTimeout ?? policies?.PerItemTimeout ?? options.TotalTimeout;
}
