using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Core.Dispatch;

/// <summary>
/// Never called. It names the runs that are compiled ahead of time together with this assembly when an application is published with <c>PublishReadyToRun</c>.
/// This is only possible here, because the code of generic types is compiled ahead with the assembly of these types, for arguments that it knows: references,
/// which share their code, and numbers. All others are compiled as the process runs.
/// </summary>
/// <remarks>
/// A call brings in what it calls, but not what is called through a base class. The name of a type brings in all of its methods, if the type is exact: not in a
/// method whose own type arguments are references. So the types are listed one by one.
/// </remarks>
internal static class Precompiled
{
    private static readonly Type[] Types =
    [
        typeof(Source<object>), typeof(Source<int>),
        typeof(ArraySource<object>), typeof(ListSource<object>), typeof(CollectionSource<object>), typeof(LazySource<object>), typeof(AsyncSource<object>),
        typeof(BatchSource<object>),
        typeof(StreamOutput<object>), typeof(StreamOutput<int>), typeof(UnorderedOutput<object>), typeof(OrderedOutput<object>),
        typeof(PumpWorker<object, object, PendingResult<object>, SelectorCall<object, object>, ListSink<object>>),
        typeof(PumpWorker<object, object, PendingResult<object>, SelectorCall<object, object>, GrowingListSink<object>>),
        typeof(PumpWorker<object, object, PendingResult<object>, SelectorCall<object, object>, OutcomeSink<object, object>>),
        typeof(PumpWorker<object, object, PendingResult<object>, SelectorCall<object, object>, StreamSink<object>>),
        typeof(PumpWorker<object, int, PendingResult<int>, SelectorCall<object, int>, ListSink<int>>),
        typeof(PumpWorker<object, int, PendingResult<int>, SelectorCall<object, int>, GrowingListSink<int>>),
        typeof(PumpWorker<object, int, PendingResult<int>, SelectorCall<object, int>, OutcomeSink<object, int>>),
        typeof(PumpWorker<object, int, PendingResult<int>, SelectorCall<object, int>, StreamSink<int>>),
        typeof(PumpWorker<int, object, PendingResult<object>, SelectorCall<int, object>, ListSink<object>>),
        typeof(PumpWorker<int, object, PendingResult<object>, SelectorCall<int, object>, GrowingListSink<object>>),
        typeof(PumpWorker<int, object, PendingResult<object>, SelectorCall<int, object>, OutcomeSink<int, object>>),
        typeof(PumpWorker<int, object, PendingResult<object>, SelectorCall<int, object>, StreamSink<object>>),
        typeof(PumpWorker<object, Nothing, PendingNothing, ActionCall<object>, DiscardSink>),
    ];

    public static void All(object[] objects, int[] numbers, PumpSettings settings)
    {
        _ = Types;
        Runs<object, object>(objects, settings);
        Runs<object, int>(objects, settings);
        Runs<int, object>(numbers, settings);
        Runs<int, int>(numbers, settings);
        Actions(objects, settings);
        Actions(numbers, settings);
    }

    private static void Runs<TItem, TResult>(TItem[] items, PumpSettings settings)
    {
        Func<TItem, CancellationToken, ValueTask<TResult>> call = static (_, _) => default;
        Source<TItem> source = SourceOf.Enumerable(items);
        _ = Batches.Enumerable(items, 1);
        ListCompletion<TResult> completion = new(items.Length);
        OutcomeCompletion<TItem, TResult> outcomes = new(items.Length);
        UnorderedOutput<TResult> unordered = new(1, 0, null!);
        OrderedOutput<TResult> ordered = new(1, 0, null!);
        PlainRun.StartList(source, call, completion, settings, null, default);
        PlainRun.StartOutcomes(source, call, outcomes, new(source, keepsAll: true), settings, null, default);
        PlainRun.Make(source, call, new StreamSink<TResult>(unordered), settings, null).Start(1, default);
        _ = unordered.MoveNextAsync().AsTask();
        _ = ordered.MoveNextAsync().AsTask();
    }

    private static void Actions<TItem>(TItem[] items, PumpSettings settings)
    {
        Func<TItem, CancellationToken, ValueTask> action = static (_, _) => default;
        PlainRun.StartDiscard(SourceOf.Enumerable(items), action, new TaskCompletionSource(), settings, null, default);
    }
}
