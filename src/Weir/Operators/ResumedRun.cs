using System.Diagnostics;
using System.Threading.Channels;
using Weir.Checkpoints;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Operators;

/// <summary>Runs with a checkpoint: the source without what is done, around it the opening of the checkpoint and its last save.</summary>
internal static class ResumedRun
{
    /// <summary>Checks that the items can be told apart in the next run.</summary>
    /// <exception cref="ArgumentException">They cannot.</exception>
    [StackTraceHidden]
    public static void Check<T>(object source, ParallelRunOptions options) => ResumeSession.Check<T>(
        options.Resume,
        source switch
        {
            PartitionedItems<T> keyed => keyed.Items,
            PartitionedAsyncItems<T> keyed => keyed.Items ?? (object)keyed.Channel!,
            _ => source,
        },
        source is not (ChannelReader<T> or PartitionedAsyncItems<T> { Channel: not null }));

    public static Source<T> Items<T>(IEnumerable<T> source, ParallelRunOptions options)
    {
        ResumeSession session = Session<T>(source, options, SourceOf.Enumerable(source).KnownCount, hasBatches: false);
        return new LazySource<T>(session.Filter(source)) { Keeper = new ItemsOfSession<T>(session) };
    }

    public static Source<T> Items<T>(IAsyncEnumerable<T> source, ParallelRunOptions options)
    {
        ResumeSession session = Session<T>(source, options, -1, hasBatches: false);
        return new AsyncSource<T>(session.Filter(source)) { Keeper = new ItemsOfSession<T>(session) };
    }

    public static Source<T> Items<T>(ChannelReader<T> source, ParallelRunOptions options)
    {
        ResumeSession session = Session<T>(source, options, -1, hasBatches: false);
        return new AsyncSource<T>(session.Filter(source.ReadAllAsync(CancellationToken.None))) { Keeper = new ItemsOfSession<T>(session) };
    }

    public static Source<IReadOnlyList<T>> Batches<T>(IEnumerable<T> source, int size, TimeSpan? timeout, ParallelRunOptions options)
    {
        ResumeSession session = Session<T>(source, options, SourceOf.Enumerable(source).KnownCount, hasBatches: true);
        IEnumerable<T> left = session.Filter(source);
        return timeout is null
            ? new LazyBatchSource<T>(left, size) { Keeper = new BatchesOfSession<T>(session) }
            : new TimedBatchSource<T>(new OffloadedEnumerable<T>(left), size, timeout, options.TimeProvider) { Keeper = new BatchesOfSession<T>(session) };
    }

    public static Source<IReadOnlyList<T>> Batches<T>(IAsyncEnumerable<T> source, int size, TimeSpan? timeout, ParallelRunOptions options)
    {
        ResumeSession session = Session<T>(source, options, -1, hasBatches: true);
        return new TimedBatchSource<T>(session.Filter(source), size, timeout, options.TimeProvider) { Keeper = new BatchesOfSession<T>(session) };
    }

    public static Source<IReadOnlyList<T>> Batches<T>(ChannelReader<T> source, int size, TimeSpan? timeout, ParallelRunOptions options)
    {
        ResumeSession session = Session<T>(source, options, -1, hasBatches: true);
        return new TimedBatchSource<T>(session.Filter(source.ReadAllAsync(CancellationToken.None)), size, timeout, options.TimeProvider)
        {
            Keeper = new BatchesOfSession<T>(session),
        };
    }

    /// <summary>The session that belongs to a source that was made here.</summary>
    public static ResumeSession SessionOf<T>(Source<T> source) => ((IOfSession)source.Keeper!).Session;

    public static Task<TList> Of<TItem, TList>(
        Source<TItem> source, ParallelRunOptions options, Func<ParallelRunOptions, Task<TList>> start, CancellationToken cancellationToken) =>
        Of(SessionOf(source), options, start, cancellationToken);

    public static Task Of<TItem>(Source<TItem> source, ParallelRunOptions options, Func<ParallelRunOptions, Task> start, CancellationToken cancellationToken) =>
        Of(
            SessionOf(source),
            options,
            async run =>
            {
                await start(run).ConfigureAwait(false);
                return default(Nothing);
            },
            cancellationToken);

    /// <summary>Opens the checkpoint, runs, and saves.</summary>
    /// <param name="session">The session, with the source that the run reads.</param>
    /// <param name="options">The options of the run.</param>
    /// <param name="start">Runs, with the options that it gets.</param>
    /// <param name="cancellationToken">Ends the wait for the checkpoint.</param>
    public static async Task<TList> Of<TList>(
        ResumeSession session, ParallelRunOptions options, Func<ParallelRunOptions, Task<TList>> start, CancellationToken cancellationToken)
    {
        await session.OpenAsync(cancellationToken).ConfigureAwait(false);
        TList result;
        try
        {
            result = await start(options with { Resume = null, Session = session }).ConfigureAwait(false);
        }
        catch
        {
            await CloseAfterFailureAsync(session).ConfigureAwait(false);
            throw;
        }

        await session.CloseAsync().ConfigureAwait(false);
        return result;
    }

    /// <summary>The run has failed. What it threw is what its caller has to know.</summary>
    public static async ValueTask CloseAfterFailureAsync(ResumeSession session)
    {
        try
        {
            await session.CloseAsync().ConfigureAwait(false);
        }
        catch (IOException)
        {
        }
    }

    /// <summary>The index of an outcome whose item is done when the consumer comes back; negative if it is not done, or cannot be told from others.</summary>
    public static long DoneIndexOf<TItem, TResult>((int Index, ItemOutcome<TItem, TResult> Outcome) item) =>
        item.Outcome.IsSuccess && item.Index < int.MaxValue ? item.Index : -1;

    /// <summary>The session of a run that has not begun.</summary>
    /// <exception cref="ArgumentException">Its items cannot be told apart in the next run.</exception>
    public static ResumeSession Session<T>(
        object source, ParallelRunOptions options, int knownCount, bool hasBatches, TimeProvider? time = null)
    {
        Check<T>(source, options);
        return ResumeSession.Of(options.Resume!, time ?? options.TimeProvider, knownCount, hasBatches);
    }

    private interface IOfSession
    {
        ResumeSession Session { get; }
    }

    private sealed class ItemsOfSession<T>(ResumeSession session) : IItemKeeper<T>, IOfSession
    {
        public ResumeSession Session => session;

        public void Add(long index, T item)
        {
        }
    }

    private sealed class BatchesOfSession<T>(ResumeSession session) : IItemKeeper<IReadOnlyList<T>>, IOfSession
    {
        public ResumeSession Session => session;

        public void Add(long index, IReadOnlyList<T> item) => session.BatchRead(index, item.Count);
    }
}

/// <summary>A stream with a checkpoint. An item is done when its consumer asks for the next one: what waits here when the process ends runs again.</summary>
/// <param name="prepare">Makes the session of an enumeration and its run.</param>
/// <param name="doneIndexOf">The index of an item that its consumer has taken; negative if it is not done.</param>
/// <param name="valueOf">What the consumer gets.</param>
/// <param name="callToken">The token of the call.</param>
internal sealed class ResumedStream<TNumbered, TValue>(
    Func<(ResumeSession Session, IAsyncEnumerable<TNumbered> Run)> prepare,
    Func<TNumbered, long> doneIndexOf,
    Func<TNumbered, TValue> valueOf,
    CancellationToken callToken) : IAsyncEnumerable<TValue>
{
    public async IAsyncEnumerator<TValue> GetAsyncEnumerator(CancellationToken cancellationToken = default)
    {
        (ResumeSession session, IAsyncEnumerable<TNumbered> run) = prepare();
        session.IsOfStream = true;
        await session.OpenAsync(callToken.CanBeCanceled ? callToken : cancellationToken).ConfigureAwait(false);
        bool hasEnded = false;
        try
        {
            await foreach (TNumbered item in run.WithCancellation(cancellationToken).ConfigureAwait(false))
            {
                yield return valueOf(item);
                if (doneIndexOf(item) is >= 0 and var index)
                {
                    session.Done(index);
                }
            }

            hasEnded = true;
        }
        finally
        {
            if (!hasEnded)
            {
                await ResumedRun.CloseAfterFailureAsync(session).ConfigureAwait(false);
            }
        }

        await session.CloseAsync().ConfigureAwait(false);
    }
}

/// <summary>Passes results with their index to a stream.</summary>
internal readonly struct NumberedStreamSink<TResult>(StreamOutput<(long Index, TResult Result)> output) : ISink<TResult>
{
    public bool HasSlots => false;

    public bool HasChunks => false;

    public long Ceiling => output.Ceiling;

    public long Undelivered(long ended) => output.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public bool WaitForRoom(long index) => output.WaitForRoom(index);

    public void Succeeded(long index, TResult result) => output.Add(index, (index, result));

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => output.Skip(index);

    public void Complete(RunEnd end) => output.Complete(end);
}
