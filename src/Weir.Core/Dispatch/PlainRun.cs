using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>Makes runs that call nothing but the user's delegate for an item.</summary>
/// <remarks>
/// They are made here because the code of generic types and methods is compiled ahead of time only within one assembly: that of the type and of all its
/// arguments. See <see cref="Precompiled"/>.
/// </remarks>
internal static class PlainRun
{
    public static Pump Make<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        PumpSettings settings,
        IRecovery<TResult>? recovery)
        where TSink : struct, ISink<TResult> =>
        source is ILanes lanes
            ? MakeInLanes(source, selector, new LaneSink<TResult, TSink>(sink, lanes), settings, recovery)
            : new Pump<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, TSink>(
                source, new SelectorCall<TItem, TResult>(selector), sink, settings, recovery);

    /// <summary>Starts a run that nobody gets.</summary>
    public static void StartList<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        ListCompletion<TResult> completion,
        PumpSettings settings,
        IRecovery<TResult>? recovery,
        CancellationToken cancellationToken)
    {
        if (source.KnownCount > 0)
        {
            Start(source, selector, new ListSink<TResult>(completion), settings, recovery, cancellationToken);
        }
        else
        {
            Start(source, selector, new GrowingListSink<TResult>(completion), settings, recovery, cancellationToken);
        }
    }

    /// <summary>The same for outcomes.</summary>
    public static void StartOutcomes<TItem, TResult>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        OutcomeCompletion<TItem, TResult> completion,
        OutcomeMaker<TItem, TResult> maker,
        PumpSettings settings,
        IRecovery<TResult>? recovery,
        CancellationToken cancellationToken)
    {
        if (source.KnownCount > 0)
        {
            Start(source, selector, new OutcomeSink<TItem, TResult>(completion, maker), settings, recovery, cancellationToken);
        }
        else
        {
            Start(source, selector, new GrowingOutcomeSink<TItem, TResult>(completion, maker), settings, recovery, cancellationToken);
        }
    }

    /// <summary>The same for any sink.</summary>
    public static void Start<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        TSink sink,
        PumpSettings settings,
        IRecovery<TResult>? recovery,
        CancellationToken cancellationToken)
        where TSink : struct, ISink<TResult>
    {
        if (source is ILanes lanes)
        {
            MakeInLanes(source, selector, new LaneSink<TResult, TSink>(sink, lanes), settings, recovery).Start(1, cancellationToken);
        }
        else
        {
            new Pump<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, TSink>(
                source, new SelectorCall<TItem, TResult>(selector), sink, settings, recovery).Start(1, cancellationToken);
        }
    }

    /// <summary>The same for actions.</summary>
    public static void StartDiscard<TItem>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        TaskCompletionSource completion,
        PumpSettings settings,
        IRecovery<Nothing>? recovery,
        CancellationToken cancellationToken)
    {
        if (source is ILanes lanes)
        {
            LaneSink<Nothing, DiscardSink> sink = new(new DiscardSink(completion), lanes);
            MakeDiscardInLanes(source, action, sink, settings, recovery).Start(1, cancellationToken);
        }
        else
        {
            new Pump<TItem, Nothing, PendingNothing, ActionCall<TItem>, DiscardSink>(
                source, new ActionCall<TItem>(action), new DiscardSink(completion), settings, recovery).Start(1, cancellationToken);
        }
    }

    // Separate: what a method names is loaded when it is compiled, also what its first call does not use.
    private static Pump<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, LaneSink<TResult, TSink>> MakeInLanes<TItem, TResult, TSink>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
        LaneSink<TResult, TSink> sink,
        PumpSettings settings,
        IRecovery<TResult>? recovery)
        where TSink : struct, ISink<TResult> =>
        new(source, new SelectorCall<TItem, TResult>(selector), sink, settings, recovery);

    private static Pump<TItem, Nothing, PendingNothing, ActionCall<TItem>, LaneSink<Nothing, DiscardSink>> MakeDiscardInLanes<TItem>(
        Source<TItem> source,
        Func<TItem, CancellationToken, ValueTask> action,
        LaneSink<Nothing, DiscardSink> sink,
        PumpSettings settings,
        IRecovery<Nothing>? recovery) =>
        new(source, new ActionCall<TItem>(action), sink, settings, recovery);
}
