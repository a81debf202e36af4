using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Observability;
using Weir.Policies;

namespace Weir.Operators;

/// <summary>Composes source, call and sink into a run of the engine. Only this class turns an operator's options into the engine's settings.</summary>
internal static partial class OperatorRun
{
    public static Task<List<TResult>> List<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "",
        [CallerArgumentExpression(nameof(selector))] string call = "")
    {
        CheckTypes<TItem, TResult>(options);
        TaskCalls.RefuseTasks(typeof(TResult), call);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<List<TResult>>(cancellationToken);
        }

        if (source.IsExhausted && !RunObservation.IsNoticed(options))
        {
            return Task.FromResult<List<TResult>>([]);
        }

        int count = Math.Max(0, source.KnownCount);
        ListCompletion<TResult> completion = options.Output.DisposeUnusedResults ? UnusedOf.ListOf<TResult>(options, count) : new(count);
        PumpSettings settings = Settings(options, options.ErrorMode, operation);
        Task<List<TResult>> task = completion.Task;
        if (source.KnownCount > 0)
        {
            Start(source, selector, new ListSink<TResult>(completion), options, settings, null, operation, cancellationToken);
        }
        else
        {
            Start(source, selector, new GrowingListSink<TResult>(completion), options, settings, null, operation, cancellationToken);
        }

        return task;
    }

    public static Task Discard<TItem>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "")
    {
        CheckAction<TItem>(options);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled(cancellationToken);
        }

        if (source.IsExhausted && !RunObservation.IsNoticed(options))
        {
            return Task.CompletedTask;
        }

        TaskCompletionSource completion = new();
        PumpSettings settings = Settings(options, options.ErrorMode, operation);
        DiscardSink sink = new(completion);
        if (CallPolicies.AreSet(options) || RunObservation.IsWanted(options))
        {
            Start(source, TaskCalls.AsSelector<TItem, Nothing>(action), sink, options, settings, null, operation, cancellationToken);
        }
        else
        {
            Pump pump = source is ILanes lanes
                ? OperatorPump.MakeDiscard(source, action, new LaneSink<Nothing, DiscardSink>(sink, lanes), options, settings)
                : OperatorPump.MakeDiscard(source, action, sink, options, settings);
            pump.Start(1, cancellationToken);
        }

        return completion.Task;
    }

    public static IAsyncEnumerable<TResult> Stream<TItem, TResult>(
        Func<Source<TItem>> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "",
        [CallerArgumentExpression(nameof(selector))] string call = "") =>
        StreamOf<TItem, TResult, TResult>(
            options,
            (output, enumeratorToken) => StartStream(source(), selector, output, options, operation, cancellationToken, enumeratorToken),
            options.Output.DisposeUnusedResults ? UnusedOf.Results<TResult>(options) : null,
            call,
            cancellationToken);

    private static Pump StartStream<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        StreamOutput<TResult> output,
        ParallelRunOptions options,
        string operation,
        CancellationToken cancellationToken,
        CancellationToken enumeratorToken) =>
        Start(
            source,
            selector,
            new StreamSink<TResult>(output),
            options,
            StreamSettings(options, options.ErrorMode, output, operation),
            null,
            operation,
            cancellationToken,
            enumeratorToken);

    private static PumpStream<TOutput> StreamOf<TItem, TResult, TOutput>(
        ParallelRunOptions options,
        Func<StreamOutput<TOutput>, CancellationToken, Pump> start,
        UnusedResults<TOutput>? unused,
        string call,
        CancellationToken cancellationToken)
    {
        CheckTypes<TItem, TResult>(options);
        TaskCalls.RefuseTasks(typeof(TResult), call);
        return new PumpStream<TOutput>(
            options.AdaptiveConcurrency?.MaxConcurrency ?? options.MaxDegreeOfParallelism,
            options.Output.ChannelCapacity,
            options.OrderedOutput,
            start,
            cancellationToken) { Unused = unused };
    }

    private static Pump Start<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        ItemRecords? records,
        string operation,
        CancellationToken cancellationToken,
        CancellationToken otherToken = default)
        where TSink : struct, ISink<TResult>
    {
        if (RunObservation.IsWanted(options))
        {
            return StartObserved(source, selector, sink, options, settings, records, operation, cancellationToken, otherToken);
        }

        Pump pump = Make(source, selector, sink, options, settings, null, records);
        pump.Start(1, cancellationToken, otherToken);
        return pump;
    }

    // Separate, so that the start of other runs makes no closure.
    private static Pump StartObserved<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        ItemRecords? records,
        string operation,
        CancellationToken cancellationToken,
        CancellationToken otherToken)
        where TSink : struct, ISink<TResult> =>
        StartObserved(
            source,
            selector,
            sink,
            options,
            settings,
            records,
            RunLabel.Of(operation, options),
            pump => pump.Start(1, cancellationToken, otherToken));

    /// <summary>Starts a run that somebody observes.</summary>
    /// <param name="source">The items.</param>
    /// <param name="selector">The call.</param>
    /// <param name="sink">What becomes of the results.</param>
    /// <param name="options">The policies, and who observes.</param>
    /// <param name="settings">The settings of the engine.</param>
    /// <param name="records">The records of the items, if the sink uses them too.</param>
    /// <param name="label">What tells the run apart from others.</param>
    /// <param name="start">Starts the run.</param>
    public static Pump StartObserved<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        ItemRecords? records,
        RunLabel label,
        Action<Pump> start)
        where TSink : struct, ISink<TResult>
    {
        if (options.Events is { } events)
        {
            options = options with { Events = events.ForRun(options, label.Operation) };
        }

        RunObservation observation = RunObservation.Begin(options, label, source.KnownCount);
        try
        {
            Pump pump = Make(
                source,
                observation.MeasuresCalls ? MeasuredCalls.Of(observation.Label, selector) : selector,
                new ObservedSink<TResult, TSink>(sink, observation),
                options,
                settings with { CountsPauses = true, Waits = observation.Waits },
                observation.Trace,
                records);
            observation.Attach(pump);
            start(pump);
            return pump;
        }
        catch (Exception e)
        {
            // A runtime that has been disposed starts nothing.
            observation.End(RunEnd.Broken(e), static _ => { });
            throw;
        }
        finally
        {
            observation.Started();
        }
    }

    /// <summary>Creates a run inside the policies of its options.</summary>
    public static Pump Make<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        RunTrace? trace,
        ItemRecords? records = null)
        where TSink : struct, ISink<TResult> =>
        source is ILanes lanes
            ? OperatorPump.Make(source, selector, new LaneSink<TResult, TSink>(sink, lanes), options, settings, trace, records)
            : OperatorPump.Make(source, selector, sink, options, settings, trace, records);

    /// <summary>Checks that the options are those of the items and the results.</summary>
    /// <exception cref="ArgumentException">They are not.</exception>
    public static void CheckTypes<TItem, TResult>(ParallelRunOptions options)
    {
        if (options.OnFallback is { } fallback)
        {
            Fallback.Check<TItem, TResult>(fallback);
        }

        CheckItems<TItem, TResult>(options);
    }

    /// <summary>The settings with the hooks that the engine calls.</summary>
    public static PumpSettings WithHooks(PumpSettings settings, ParallelRunOptions options) =>
        options.Hooks is not { } hooks || (hooks.OnErrorAsync is null && hooks.OnThrottleAsync is null && hooks.OnDrainAsync is null) ? settings : settings with
        {
            OnError = hooks.OnErrorAsync is { } onError ? ErrorHook(onError) : null,
            OnThrottle = hooks.OnThrottleAsync is { } onThrottle ? PauseHook(onThrottle) : null,
            OnDrain = hooks.OnDrainAsync is { } onDrain ? PauseHook(onDrain) : null,
        };

    private static void CheckAction<TItem>(ParallelRunOptions options)
    {
        Fallback.ThrowIfSet(options.OnFallback, "an action");
        RetryRule.ThrowIfSet(options.ShouldRetry);
        CheckItems<TItem, Nothing>(options);
    }

    // What checks keys and hooks is loaded only where there are some.
    private static void CheckItems<TItem, TResult>(ParallelRunOptions options)
    {
        if (options.HasKeys)
        {
            KeyedGuards<TItem>.Check(options);
        }

        if (options.Hooks is { Items: not null })
        {
            CheckHooks<TItem>(options);
        }

        if (options.ShouldRetry is not null)
        {
            RetryRule.Check<TItem, TResult>(options.ShouldRetry);
        }
    }

    private static void CheckHooks<TItem>(ParallelRunOptions options) => HookCalls<TItem>.Of(options);

    // Only a stream pauses, and a higher limit needs more room between its source and its consumer.
    private static PumpSettings StreamSettings<TResult>(ParallelRunOptions options, ErrorMode errorMode, StreamOutput<TResult> output, string operation)
    {
        PumpSettings settings = Settings(options, errorMode, operation);
        settings = settings is ControlledSettings controlled ? Widening(controlled, options, output) : settings;
        return RunObservation.IsMetered ? settings with { CountsPauses = true } : settings;
    }

    private static ControlledSettings Widening<TResult>(ControlledSettings settings, ParallelRunOptions options, StreamOutput<TResult> output) =>
        settings with { OnLimit = limit => output.Widen(limit, options.Output.ChannelCapacity) };

    private static PumpSettings Settings(ParallelRunOptions options, ErrorMode errorMode, string operation) =>
        options.AdaptiveConcurrency is { } adaptive
            ? AdaptiveRun.Settings(adaptive, options.TimeProvider, FixedSettings(options, errorMode, operation))
            : FixedSettings(options, errorMode, operation);

    private static PumpSettings FixedSettings(ParallelRunOptions options, ErrorMode errorMode, string operation)
    {
        PumpSettings made = MakeSettings(options, errorMode, operation);
        return options.Control is { } control ? new ControlledSettings(made, control) : made;
    }

    private static PumpSettings MakeSettings(ParallelRunOptions options, ErrorMode errorMode, string operation) => WithHooks(
        new PumpSettings
        {
            Limit = options.MaxDegreeOfParallelism,
            ErrorMode = errorMode,
            PerItemTimeout = options.PerItemTimeout,
            TimeProvider = options.TimeProvider,
            Operation = operation,
            About = options,
        },
        options);

    // Separate methods: a lambda above would allocate its closure in every run, with or without hooks.
    private static Func<long, Exception, ValueTask<bool>> ErrorHook(Func<int, Exception, ValueTask<bool>> hook) =>
        (index, error) => hook(Indices.ToInt(index), error);

    private static Func<long, ValueTask> PauseHook(Func<int, ValueTask> hook) => read => hook(Indices.ToInt(read));
}
