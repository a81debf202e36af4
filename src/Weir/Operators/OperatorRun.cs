using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Weir.Checkpoints;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Observability;
using Weir.Policies;
using Weir.Resilience;

namespace Weir.Operators;

/// <summary>Composes source, call and sink into a run of the engine. Only this class turns an operator's options into the engine's settings.</summary>
internal static class OperatorRun
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

        if (options.Resume is not null)
        {
            return ResumedList(source, selector, options, operation, call, cancellationToken);
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

        if (options.Resume is not null)
        {
            return ResumedDiscard(source, action, options, operation, cancellationToken);
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
            Pump pump = LanesOf(source, options) is { } lanes
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
        options.Resume is not null ? ResumedStream(source, selector, options, operation, call, cancellationToken) : StreamOf<TItem, TResult, TResult>(
            options,
            (output, enumeratorToken) => StartStream(source(), selector, output, options, operation, cancellationToken, enumeratorToken),
            options.Output.DisposeUnusedResults ? UnusedOf.Results<TResult>(options) : null,
            call,
            cancellationToken);

    // Runs with a checkpoint. Separate, so that the start of other runs makes no closure.
    private static Task<List<TResult>> ResumedList<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        string operation,
        string call,
        CancellationToken cancellationToken) =>
        ResumedRun.Of(source, options, run => List(source, selector, run, cancellationToken, operation, call), cancellationToken);

    private static Task ResumedDiscard<TItem>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        ParallelRunOptions options,
        string operation,
        CancellationToken cancellationToken) =>
        ResumedRun.Of(source, options, run => Discard(source, action, run, cancellationToken, operation), cancellationToken);

    private static Task<ItemOutcome<TItem, TResult>[]> ResumedOutcomes<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        string operation,
        string call,
        CancellationToken cancellationToken) =>
        ResumedRun.Of(source, options, run => Outcomes(source, selector, run, cancellationToken, operation, call), cancellationToken);

    private static ResumedStream<(long Index, TResult Result), TResult> ResumedStream<TItem, TResult>(
        Func<Source<TItem>> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        string operation,
        string call,
        CancellationToken cancellationToken) => Resumed<TItem, TResult, (long Index, TResult Result), TResult>(
        source,
        options,
        (items, run) => StreamOf<TItem, TResult, (long Index, TResult Result)>(
            run,
            (output, enumeratorToken) => Start(
                items,
                selector,
                new NumberedStreamSink<TResult>(output),
                run,
                StreamSettings(run, run.ErrorMode, output, operation),
                null,
                operation,
                cancellationToken,
                enumeratorToken),
            run.Output.DisposeUnusedResults ? UnusedOf.NumberedResults<TResult>(run) : null,
            call,
            cancellationToken),
        static result => result.Index,
        static result => result.Result,
        call,
        cancellationToken);

    /// <summary>A stream with a checkpoint: each enumeration has a session and a run of its own.</summary>
    private static ResumedStream<TNumbered, TValue> Resumed<TItem, TResult, TNumbered, TValue>(
        Func<Source<TItem>> source,
        ParallelRunOptions options,
        Func<Source<TItem>, ParallelRunOptions, IAsyncEnumerable<TNumbered>> start,
        Func<TNumbered, long> doneIndexOf,
        Func<TNumbered, TValue> valueOf,
        string call,
        CancellationToken cancellationToken)
    {
        // Now, and not when somebody enumerates it.
        CheckTypes<TItem, TResult>(options);
        TaskCalls.RefuseTasks(typeof(TResult), call);
        return new(
            () =>
            {
                Source<TItem> items = source();
                ResumeSession session = ResumedRun.SessionOf(items);
                return (session, start(items, options with { Resume = null, Session = session }));
            },
            doneIndexOf,
            valueOf,
            cancellationToken);
    }

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
        LanesOf(source, options) is { } lanes
            ? OperatorPump.Make(source, selector, new LaneSink<TResult, TSink>(sink, lanes), options, settings, trace, records)
            : OperatorPump.Make(source, selector, sink, options, settings, trace, records);

    // Who must know of each item that ends, or null.
    private static ILanes? LanesOf(Source source, ParallelRunOptions options)
    {
        ILanes? lanes = source as ILanes;
        if (options.Session is not { } session)
        {
            return lanes;
        }

        session.Lanes = lanes;
        return session;
    }

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
        return (options.Control ?? LiveControl()) is { } control ? new ControlledSettings(made, control) : made;
    }

    /// <summary>The control of a run that is given none; null unless somebody wants to act on runs.</summary>
    public static RunControl? LiveControl() => WeirDiagnostics.ControlsRuns ? new RunControl() : null;

    private static PumpSettings MakeSettings(ParallelRunOptions options, ErrorMode errorMode, string operation) => WithHooks(
        new PumpSettings
        {
            Limit = options.MaxDegreeOfParallelism,
            ErrorMode = errorMode,
            PerItemTimeout = options.PerItemTimeout,
            Deadline = options.TotalTimeout is { } total ? new RunDeadline(total) : null,
            Guarded = options.TotalTimeout is not null,
            TimeProvider = options.TimeProvider,
            Operation = operation,
            About = options,
        },
        options);

    // Separate methods: a lambda above would allocate its closure in every run, with or without hooks.
    private static Func<long, Exception, ValueTask<bool>> ErrorHook(Func<int, Exception, ValueTask<bool>> hook) =>
        (index, error) => hook(Indices.ToInt(index), error);

    private static Func<long, ValueTask> PauseHook(Func<int, ValueTask> hook) => read => hook(Indices.ToInt(read));

    // Runs whose caller gets the outcome of each item.

    public static Task<ItemOutcome<TItem, TResult>[]> Outcomes<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "",
        [CallerArgumentExpression(nameof(selector))] string call = "")
    {
        CheckTypes<TItem, TResult>(options);
        TaskCalls.RefuseTasks(typeof(TResult), call);
        if (cancellationToken.IsCancellationRequested && !options.Output.ReturnOutcomesOnCancellation)
        {
            return Task.FromCanceled<ItemOutcome<TItem, TResult>[]>(cancellationToken);
        }

        if (options.Resume is not null)
        {
            return ResumedOutcomes(source, selector, options, operation, call, cancellationToken);
        }

        if (source.IsExhausted && !RunObservation.IsNoticed(options))
        {
            return Task.FromResult<ItemOutcome<TItem, TResult>[]>([]);
        }

        int count = Math.Max(0, source.KnownCount);
        OutcomeCompletion<TItem, TResult> completion = options.Output.DisposeUnusedResults && UnusedOf.Outcomes<TItem, TResult>(options) is { } unused
            ? new OwningOutcomeCompletion<TItem, TResult>(count, options.Output.ReturnOutcomesOnCancellation, unused)
            : new OutcomeCompletion<TItem, TResult>(count, options.Output.ReturnOutcomesOnCancellation);

        // The outcomes already report the failures, so no mode stops the run or collects them again.
        PumpSettings settings = Settings(options, ErrorMode.BestEffort, operation);
        ItemRecords? records = options.Output.IncludeDetails ? new(options.TimeProvider) : null;
        OutcomeMaker<TItem, TResult> maker = new(source, keepsAll: true, records is null ? null : records.DetailsOf);
        if (source.KnownCount > 0)
        {
            Start(source, selector, new OutcomeSink<TItem, TResult>(completion, maker), options, settings, records, operation, cancellationToken);
        }
        else
        {
            Start(source, selector, new GrowingOutcomeSink<TItem, TResult>(completion, maker), options, settings, records, operation, cancellationToken);
        }

        return completion.Task;
    }

    public static Task<ItemOutcome<TItem>[]> ActionOutcomes<TItem>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "")
    {
        CheckAction<TItem>(options);
        return TaskCalls.WithoutResults(Outcomes(source, TaskCalls.AsSelector<TItem, Nothing>(action), options, cancellationToken, operation));
    }

    public static IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> OutcomesStream<TItem, TResult>(
        Func<Source<TItem>> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "",
        [CallerArgumentExpression(nameof(selector))] string call = "")
    {
        return options.Resume is null
            ? OutcomesStreamOf(source, selector, options, operation, call, cancellationToken)
            : ResumedOutcomesStream(source, selector, options, operation, call, cancellationToken);
    }

    private static ResumedStream<(int Index, ItemOutcome<TItem, TResult> Outcome), (int Index, ItemOutcome<TItem, TResult> Outcome)>
        ResumedOutcomesStream<TItem, TResult>(
        Func<Source<TItem>> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        string operation,
        string call,
        CancellationToken cancellationToken) =>
        Resumed<TItem, TResult, (int Index, ItemOutcome<TItem, TResult> Outcome), (int Index, ItemOutcome<TItem, TResult> Outcome)>(
            source,
            options,
            (items, run) => OutcomesStreamOf(() => items, selector, run, operation, call, cancellationToken),
            ResumedRun.DoneIndexOf,
            static outcome => outcome,
            call,
            cancellationToken);

    private static PumpStream<(int Index, ItemOutcome<TItem, TResult> Outcome)> OutcomesStreamOf<TItem, TResult>(
        Func<Source<TItem>> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ParallelRunOptions options,
        string operation,
        string call,
        CancellationToken cancellationToken) =>
        StreamOf<TItem, TResult, (int Index, ItemOutcome<TItem, TResult> Outcome)>(
            options,
            (output, enumeratorToken) =>
            {
                Source<TItem> items = source();
                ItemRecords? records = options.Output.IncludeDetails ? new(options.TimeProvider) : null;
                return Start(
                    items,
                    selector,
                    new OutcomeStreamSink<TItem, TResult>(
                        output, items.KnownCount, new(items, keepsAll: false, records is null ? null : records.DetailsOf)),
                    options,
                    StreamSettings(options, ErrorMode.BestEffort, output, operation),
                    records,
                    operation,
                    cancellationToken,
                    enumeratorToken);
            },
            options.Output.DisposeUnusedResults ? UnusedOf.IndexedOutcomes<TItem, TResult>(options) : null,
            call,
            cancellationToken);

    public static IAsyncEnumerable<(int Index, ItemOutcome<TItem> Outcome)> ActionOutcomesStream<TItem>(
        Func<Source<TItem>> source,
        Func<TItem, CancellationToken, ValueTask> action,
        ParallelRunOptions options,
        CancellationToken cancellationToken,
        [CallerMemberName] string operation = "")
    {
        CheckAction<TItem>(options);
        return TaskCalls.WithoutResults(OutcomesStream(source, TaskCalls.AsSelector<TItem, Nothing>(action), options, cancellationToken, operation));
    }
}

/// <summary>
/// Chooses, once per run, what wraps the user's call. Each choice is a separate type, so a run without features calls nothing but the user's delegate.
/// </summary>
internal static class OperatorPump
{
    public static Pump Make<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        RunTrace? trace,
        ItemRecords? records)
        where TSink : struct, ISink<TResult>
    {
        CallPolicies? policies = CallPolicies.Of(options, settings.Adaptive, settings.Guarded || settings.PerItemTimeout is not null, records);
        RunRecovery<TResult>? recovery = RunRecovery<TResult>.Of(options, policies);

        // One method each: what a method names is loaded when it is compiled, also what its first call does not use.
        return policies is { Records: { } open } ? MakeRecorded(source, selector, sink, options, settings, policies, open, recovery, trace)
            : policies is not null ? MakeWithPolicies(source, selector, sink, options, settings, policies, recovery, trace)
            : settings.Adaptive is { } adaptive ? MakeAdaptive(source, selector, sink, settings, adaptive, recovery, trace)
            : Make<TItem, TResult, TSink, PendingResult<TResult>, SelectorCall<TItem, TResult>>(
                source, new SelectorCall<TItem, TResult>(selector), sink, settings, recovery, trace);
    }

    /// <summary>Creates the run of an action without policies around an attempt.</summary>
    public static Pump MakeDiscard<TItem, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings)
        where TSink : struct, ISink<Nothing>
    {
        RunRecovery<Nothing>? recovery = RunRecovery<Nothing>.Of(options, null);
        ActionCall<TItem> call = new(action);
        return settings.Adaptive is { } adaptive
            ? Make<TItem, Nothing, TSink, AdaptivePending<Nothing, PendingNothing>, AdaptiveCall<TItem, Nothing, PendingNothing, ActionCall<TItem>>>(
                source, new(call, adaptive), sink, settings, recovery, null)
            : Make<TItem, Nothing, TSink, PendingNothing, ActionCall<TItem>>(source, call, sink, settings, recovery, null);
    }

    private static Pump MakeRecorded<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        CallPolicies policies,
        ItemRecords records,
        RunRecovery<TResult>? recovery,
        RunTrace? trace)
        where TSink : struct, ISink<TResult>
    {
        policies.ItemHooks = HookCalls<TItem>.Of(options);
        if (policies.ItemHooks is { HasError: true } hooks)
        {
            records.KeepsFailed = true;
            settings = settings with { OnError = ErrorHook(settings.OnError, hooks, records, policies) };
        }

        return MakeWithPolicies(source, selector, new RecordedSink<TResult, TSink>(sink, records), options, settings, policies, recovery, trace);
    }

    private static Func<long, Exception, ValueTask<bool>> ErrorHook(
        Func<long, Exception, ValueTask<bool>>? first, HookCalls hooks, ItemRecords records, CallPolicies policies) =>
        async (index, error) =>
        {
            ItemRecord? record = records.TakeFailed(index);
            bool goesOn = first is null || await first(index, error).ConfigureAwait(false);

            // The run may have given up the first one.
            return record is null || policies.HasRunEnded ? goesOn : await hooks.ErrorAsync(record, index, error).ConfigureAwait(false) && goesOn;
        };

    private static Pump MakeWithPolicies<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        ParallelRunOptions options,
        PumpSettings settings,
        CallPolicies policies,
        RunRecovery<TResult>? recovery,
        RunTrace? trace)
        where TSink : struct, ISink<TResult>
    {
        TimeoutPolicy<TResult>? timeout = policies.AttemptTimeoutOf<TResult>(options);
        Pump pump = Make<TItem, TResult, TSink, PolicyPending<TResult>, PolicyCall<TItem, TResult>>(
            source,
            new PolicyCall<TItem, TResult>(selector, policies, timeout, KeyedGuards<TItem>.Of(options, policies)),
            sink,
            timeout is null && policies.Permits is null ? settings : settings with
            {
                OnEnd = AtEnd(timeout, policies.Permits, settings.OnEnd),
                OnLimitRaised = policies.Permits is { } permits ? permits.LimitRaised : null,

                // The call has a token of its own then, that of its attempt. A limit of the user's gets the item's, and one whose permit an item waits for
                // without a worker keeps it meanwhile.
                SharesTokens = timeout is not null && policies.Permits is null && policies.RateLimit is null or TokenBucket,
            },
            recovery,
            trace);
        policies.Attach(pump);
        return pump;
    }

    private static Action AtEnd<TResult>(TimeoutPolicy<TResult>? timeout, RunPermits? permits, Action? then) => () =>
    {
        permits?.Close();
        timeout?.Close();
        then?.Invoke();
    };

    private static Pump MakeAdaptive<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        PumpSettings settings,
        AdaptiveController adaptive,
        RunRecovery<TResult>? recovery,
        RunTrace? trace)
        where TSink : struct, ISink<TResult> =>
        Make<TItem, TResult, TSink, AdaptivePending<TResult, PendingResult<TResult>>,
            AdaptiveCall<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>>>(
            source, new(new SelectorCall<TItem, TResult>(selector), adaptive), sink, settings, recovery, trace);

    /// <summary>Creates the run of a call, inside the spans of its items if there are any.</summary>
    private static Pump Make<TItem, TResult, TSink, TPending, TCall>(
        Source<TItem> source, TCall call, TSink sink, PumpSettings settings, RunRecovery<TResult>? recovery, RunTrace? trace)
        where TSink : struct, ISink<TResult>
        where TPending : struct, IPending<TResult>
        where TCall : struct, ICall<TItem, TPending> =>
        trace is null
            ? new Pump<TItem, TResult, TPending, TCall, TSink>(source, call, sink, settings, recovery)
            : MakeTraced<TItem, TResult, TSink, TPending, TCall>(source, call, sink, settings, recovery, trace);

    private static Pump<TItem, TResult, PendingResult<TResult>, TracedCall<TItem, TResult, TPending, TCall>,
        TracedSink<TResult, TSink>> MakeTraced<TItem, TResult, TSink, TPending, TCall>(
        Source<TItem> source, TCall call, TSink sink, PumpSettings settings, RunRecovery<TResult>? recovery, RunTrace trace)
        where TSink : struct, ISink<TResult>
        where TPending : struct, IPending<TResult>
        where TCall : struct, ICall<TItem, TPending> =>
        new(source, new TracedCall<TItem, TResult, TPending, TCall>(call, trace), new TracedSink<TResult, TSink>(sink, trace), settings, recovery);
}

/// <summary>A cold stream: each enumeration is a separate run, which starts at its first step.</summary>
internal sealed class PumpStream<TResult>(
    int limit, int capacity, bool ordered, Func<StreamOutput<TResult>, CancellationToken, IRunHandle> start, CancellationToken callToken)
    : IAsyncEnumerable<TResult>
{
    /// <summary>Disposes of the results that a consumer leaves behind; null if that is not asked for.</summary>
    public UnusedResults<TResult>? Unused { get; init; }

    public IAsyncEnumerator<TResult> GetAsyncEnumerator(CancellationToken cancellationToken = default)
    {
        Func<StreamOutput<TResult>, IRunHandle> startRun = output => start(output, cancellationToken);
        return new StreamOutput<TResult>(ordered, limit, capacity, startRun) { CallToken = callToken, EnumerationToken = cancellationToken, Unused = Unused };
    }
}

/// <summary>The settings of runs whose limit adapts. Separate from <see cref="OperatorRun"/>, so that other runs do not pay for it.</summary>
internal static class AdaptiveRun
{
    public static PumpSettings Settings(AdaptiveConcurrencyOptions options, TimeProvider time, PumpSettings settings)
    {
        AdaptiveController controller = new(options.SettingsWith(time));
        return settings with { Limit = controller.Limit, Adaptive = controller };
    }
}

/// <summary>Reads what an operator gets as its source: any sequence, with keys or without. Nothing is read here.</summary>
internal static class ItemsOf
{
    /// <exception cref="ArgumentException">The keys are those of batches.</exception>
    public static Source<T> Enumerable<T>(IEnumerable<T> source, ParallelRunOptions options) => source is PartitionedItems<T> keyed
        ? Lanes(keyed.Keys.Items, Unkeyed(keyed.Items, options), options)
        : Unkeyed(source, options);

    public static Source<T> Channel<T>(ChannelReader<T> source, ParallelRunOptions options) =>
        options.Resume is null ? SourceOf.Channel(source) : ResumedRun.Items(source, options);

    private static Source<T> Unkeyed<T>(IEnumerable<T> source, ParallelRunOptions options) =>
        options.Resume is null ? SourceOf.Enumerable(source) : ResumedRun.Items(source, options);

    /// <inheritdoc cref="Enumerable"/>
    public static Source<T> AsyncEnumerable<T>(IAsyncEnumerable<T> source, ParallelRunOptions options) => source is PartitionedAsyncItems<T> keyed
        ? Lanes(keyed.Keys.Items, keyed.Channel is { } channel ? Channel(channel, options) : AsyncEnumerable(keyed.Items!, options), options)
        : options.Resume is null ? SourceOf.AsyncEnumerable(source) : ResumedRun.Items(source, options);

    /// <summary>For a stream, which opens its source later: what is wrong with the keys is thrown now.</summary>
    /// <exception cref="ArgumentException">The keys are those of batches, or of items where there are batches.</exception>
    public static void Check<T>(object source, ParallelRunOptions options, bool hasBatches = false)
    {
        PartitionKeys<T>? keys = (source as PartitionedItems<T>)?.Keys ?? (source as PartitionedAsyncItems<T>)?.Keys;
        _ = hasBatches ? keys?.Batches : (object?)keys?.Items;
        ResumedRun.Check<T>(source, options);
    }

    // The read-ahead also bounds the items that wait for their lane: they too are items that were read but have not started.
    internal static Source<T> Lanes<T>(ItemKeys<T> keys, Source<T> source, ParallelRunOptions options) =>
        keys.Lanes(source, options.Output.ChannelCapacity);
}

/// <summary>Reads what an operator gets as its source in batches, with keys or without. Nothing is read here.</summary>
/// <param name="size">The largest number of items in a batch.</param>
/// <param name="timeout">How long the first item may wait for the others; null for no limit.</param>
/// <param name="options">The clock, and the limits of keys.</param>
internal readonly struct BatchesOf(int size, TimeSpan? timeout, ParallelRunOptions options)
{
    /// <exception cref="ArgumentException">The keys are those of items.</exception>
    public Source<IReadOnlyList<T>> Enumerable<T>(IEnumerable<T> source) =>
        source is PartitionedItems<T> keyed ? ItemsOf.Lanes(keyed.Keys.Batches, Enumerable(keyed.Items), options)
        : options.Resume is not null ? ResumedRun.Batches(source, size, timeout, options)
        // A queue makes a batch of what it has: it must know what runs, which it would not if it were read step by step.
        : timeout is null || source is WorkQueue<T>.Items || Batches.IsInMemory(source) ? Batches.Enumerable(source, size)
        : new TimedBatchSource<T>(new OffloadedEnumerable<T>(source), size, timeout, options.TimeProvider);

    /// <inheritdoc cref="Enumerable"/>
    public Source<IReadOnlyList<T>> AsyncEnumerable<T>(IAsyncEnumerable<T> source) => source is PartitionedAsyncItems<T> keyed
        ? ItemsOf.Lanes(keyed.Keys.Batches, keyed.Channel is { } channel ? Channel(channel) : AsyncEnumerable(keyed.Items!), options)
        : options.Resume is not null ? ResumedRun.Batches(source, size, timeout, options)
        : Batches.AsyncEnumerable(source, size, timeout, options.TimeProvider);

    public Source<IReadOnlyList<T>> Channel<T>(ChannelReader<T> source) => options.Resume is not null
        ? ResumedRun.Batches(source, size, timeout, options)
        : new TimedBatchSource<T>(source.ReadAllAsync(CancellationToken.None), size, timeout, options.TimeProvider);
}

/// <summary>
/// Adapts calls of other shapes to calls that take a token and return a <see cref="ValueTask"/>, which the runs use. It makes an object or two a run, none an
/// item.
/// </summary>
internal static class TaskCalls
{
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Selector<TItem, TResult>(
        Func<TItem, CancellationToken, Task<TResult>> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new TaskSelector<TItem, TResult>(selector).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask<TResult>> Selector<TItem, TResult>(
        Func<TItem, ValueTask<TResult>> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new ValueSelectorWithoutToken<TItem, TResult>(selector).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask<TResult>> Selector<TItem, TResult>(
        Func<TItem, Task<TResult>> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new TaskSelectorWithoutToken<TItem, TResult>(selector).Invoke;
    }

    /// <summary>Refuses results that are tasks. The types say it, so no item pays for the look.</summary>
    /// <exception cref="ArgumentException">The results are tasks, which nobody would await.</exception>
    [StackTraceHidden]
    public static void RefuseTasks(Type results, string? name)
    {
        if (IsTask(results))
        {
            throw new ArgumentException(
                "The results of the call are tasks, which nobody would await: await them inside the call (Task.Run does, Task.Factory.StartNew does not), "
                    + "or put them into a tuple if tasks are what you want.",
                name);
        }
    }

    public static Func<TItem, CancellationToken, ValueTask<TResult>> Synchronous<TItem, TResult>(
        Func<TItem, TResult> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return typeof(TResult) == typeof(object)
            ? new ObjectSelector<TItem, TResult>(selector).Invoke
            : new SynchronousSelector<TItem, TResult>(selector).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask<TResult>> Synchronous<TItem, TResult>(
        Func<TItem, CancellationToken, TResult> selector, [CallerArgumentExpression(nameof(selector))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(selector, name);
        return new SynchronousSelectorWithToken<TItem, TResult>(selector).Invoke;
    }

    /// <summary>The user's own delegate, for code that remembers something about it.</summary>
    public static Delegate Inner(Delegate call) => call.Target is IWrapped wrapped ? Inner(wrapped.Call) : call;

    private static bool IsTask(Type type) =>
        typeof(Task).IsAssignableFrom(type)
            || type == typeof(ValueTask)
            || (type.IsValueType && type.IsGenericType && type.GetGenericTypeDefinition() == typeof(ValueTask<>));

    private static TResult NoTask<TResult>(TResult result) =>
        result is not null && IsTask(result.GetType())
            ? throw new InvalidOperationException("The result of the call is a task, which nobody would await: await it inside the call.")
            : result;

    private static InvalidOperationException NoTask() => new("The call returned null in place of a task.");

    private sealed class TaskSelector<TItem, TResult>(Func<TItem, CancellationToken, Task<TResult>> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(selector(item, cancellationToken) ?? throw NoTask());
    }

    private sealed class ValueSelectorWithoutToken<TItem, TResult>(Func<TItem, ValueTask<TResult>> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => selector(item);
    }

    private sealed class TaskSelectorWithoutToken<TItem, TResult>(Func<TItem, Task<TResult>> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(selector(item) ?? throw NoTask());
    }

    private sealed class SynchronousSelector<TItem, TResult>(Func<TItem, TResult> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(selector(item));
    }

    /// <summary>Results of type object: only each of them shows whether it is a task, such as that of a method called by reflection.</summary>
    private sealed class ObjectSelector<TItem, TResult>(Func<TItem, TResult> selector) : IWrapped
    {
        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken) => new(NoTask(selector(item)));
    }

    private sealed class SynchronousSelectorWithToken<TItem, TResult>(Func<TItem, CancellationToken, TResult> selector) : IWrapped
    {
        private readonly bool _looks = typeof(TResult) == typeof(object);

        public Delegate Call => selector;

        public ValueTask<TResult> Invoke(TItem item, CancellationToken cancellationToken)
        {
            TResult result = selector(item, cancellationToken);
            return new(_looks ? NoTask(result) : result);
        }
    }

    // Calls without a result.

    /// <summary>Turns an action into a selector whose results are all the default value.</summary>
    public static Func<TItem, CancellationToken, ValueTask<TNothing>> AsSelector<TItem, TNothing>(
        Func<TItem, CancellationToken, ValueTask> action, [CallerArgumentExpression(nameof(action))] string? name = null)
        where TNothing : struct
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new ActionSelector<TItem, TNothing>(action).Invoke;
    }

    /// <summary>The outcomes of such a selector.</summary>
    public static async Task<ItemOutcome<TItem>[]> WithoutResults<TItem>(Task<ItemOutcome<TItem, Nothing>[]> outcomes) =>
        Array.ConvertAll(await outcomes.ConfigureAwait(false), static outcome => new ItemOutcome<TItem>(outcome));

    /// <inheritdoc cref="WithoutResults{TItem}(Task{ItemOutcome{TItem, Nothing}[]})"/>
    public static async IAsyncEnumerable<(int Index, ItemOutcome<TItem> Outcome)> WithoutResults<TItem>(
        IAsyncEnumerable<(int Index, ItemOutcome<TItem, Nothing> Outcome)> outcomes, [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        await foreach ((int index, ItemOutcome<TItem, Nothing> outcome) in outcomes.WithCancellation(cancellationToken).ConfigureAwait(false))
        {
            yield return (index, new ItemOutcome<TItem>(outcome));
        }
    }

    public static Func<TItem, CancellationToken, ValueTask> Action<TItem>(
        Func<TItem, CancellationToken, Task> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new TaskAction<TItem>(action).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Action<TItem>(
        Func<TItem, ValueTask> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new ValueActionWithoutToken<TItem>(action).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Action<TItem>(
        Func<TItem, Task> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new TaskActionWithoutToken<TItem>(action).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Synchronous<TItem>(
        Action<TItem> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new SynchronousAction<TItem>(action).Invoke;
    }

    public static Func<TItem, CancellationToken, ValueTask> Synchronous<TItem>(
        Action<TItem, CancellationToken> action, [CallerArgumentExpression(nameof(action))] string? name = null)
    {
        ArgumentNullException.ThrowIfNull(action, name);
        return new SynchronousActionWithToken<TItem>(action).Invoke;
    }

    private static ValueTask<TNothing> WithResult<TNothing>(ValueTask call)
        where TNothing : struct
    {
        static async ValueTask<TNothing> Wait(ValueTask call)
        {
            await call.ConfigureAwait(false);
            return default;
        }

        if (!call.IsCompletedSuccessfully)
        {
            return Wait(call);
        }

        call.GetAwaiter().GetResult();
        return default;
    }

    private sealed class ActionSelector<TItem, TNothing>(Func<TItem, CancellationToken, ValueTask> action) : IWrapped
        where TNothing : struct
    {
        public Delegate Call => action;

        public ValueTask<TNothing> Invoke(TItem item, CancellationToken cancellationToken) => WithResult<TNothing>(action(item, cancellationToken));
    }

    private sealed class TaskAction<TItem>(Func<TItem, CancellationToken, Task> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken) => new(action(item, cancellationToken) ?? throw NoTask());
    }

    private sealed class ValueActionWithoutToken<TItem>(Func<TItem, ValueTask> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken) => action(item);
    }

    private sealed class TaskActionWithoutToken<TItem>(Func<TItem, Task> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken) => new(action(item) ?? throw NoTask());
    }

    private sealed class SynchronousAction<TItem>(Action<TItem> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken)
        {
            action(item);
            return default;
        }
    }

    private sealed class SynchronousActionWithToken<TItem>(Action<TItem, CancellationToken> action) : IWrapped
    {
        public Delegate Call => action;

        public ValueTask Invoke(TItem item, CancellationToken cancellationToken)
        {
            action(item, cancellationToken);
            return default;
        }
    }
}

/// <summary>The target of a delegate that calls the user's own one.</summary>
internal interface IWrapped
{
    Delegate Call { get; }
}
