using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>
/// Never called. It names the runs that are compiled ahead of time together with this assembly when an application is published with <c>PublishReadyToRun</c>.
/// This is only possible here, because the code of generic types is compiled ahead with the assembly of these types, for arguments that it knows: references,
/// which share their code, and numbers. All others are compiled as the process runs.
/// </summary>
internal static class Precompiled
{
    public static void All(object[] objects, int[] numbers, PumpSettings settings)
    {
        Runs<object, object>(objects, settings);
        Runs<object, int>(objects, settings);
        Runs<int, object>(numbers, settings);
        Runs<int, int>(numbers, settings);
        Actions(objects, settings);
        Actions(numbers, settings);
    }

    private static void Runs<TItem, TResult>(TItem[] items, PumpSettings settings)
    {
        SelectorCall<TItem, TResult> call = new(static (_, _) => default);
        ListCompletion<TResult> completion = new(items.Length);
        Start<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, ListSink<TResult>>(items, call, new(completion), settings);
        Start<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, GrowingListSink<TResult>>(items, call, new(completion), settings);
        OutcomeCompletion<TResult> outcomes = new(items.Length);
        Start<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, OutcomeSink<TResult>>(items, call, new(outcomes), settings);
        UnorderedOutput<TResult> unordered = new(1, 0, null!);
        OrderedOutput<TResult> ordered = new(1, 0, null!);
        Start<TItem, TResult, PendingResult<TResult>, SelectorCall<TItem, TResult>, StreamSink<TResult>>(items, call, new(unordered), settings);
        _ = unordered.MoveNextAsync().AsTask();
        _ = ordered.MoveNextAsync().AsTask();
    }

    private static void Actions<TItem>(TItem[] items, PumpSettings settings)
    {
        ActionCall<TItem> call = new(static (_, _) => default);
        Start<TItem, Nothing, PendingNothing, ActionCall<TItem>, DiscardSink>(items, call, new(new TaskCompletionSource()), settings);
    }

    private static void Start<TItem, TResult, TPending, TCall, TSink>(TItem[] items, TCall call, TSink sink, PumpSettings settings)
        where TPending : struct, IPending<TResult>
        where TCall : struct, ICall<TItem, TPending>
        where TSink : struct, ISink<TResult>
    {
        Pump<TItem, TResult, TPending, TCall, TSink> pump = new(SourceOf.Enumerable(items), call, sink, settings);
        pump.Start(1, default);
    }
}
