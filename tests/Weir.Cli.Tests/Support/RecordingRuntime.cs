using Weir.Runtimes;

namespace Weir.Cli.Tests.Support;

/// <summary>A direct runtime that remembers how it was called.</summary>
internal sealed class RecordingRuntime : IExecutionRuntime
{
    private readonly DirectRuntime _inner = new();

    /// <summary>The number of items of each call.</summary>
    public List<int> Batches { get; } = [];

    /// <summary>The options of each call.</summary>
    public List<ProcessManyOptions?> Options { get; } = [];

    /// <summary>The different lists that the items came in.</summary>
    public HashSet<object> Lists { get; } = new(ReferenceEqualityComparer.Instance);

    /// <summary>What happens at the beginning of each call.</summary>
    public Action? OnCall { get; init; }

    /// <summary>How many calls asked for a stream.</summary>
    public int Streams { get; private set; }

    public string Name => "recording";

    public RuntimeStatistics Statistics => _inner.Statistics;

    public Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        Record(items, options);
        return _inner.ProcessManyAsync(items, processor, options, cancellationToken);
    }

    public IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        Assert.False(orderedOutput);
        Streams++;
        Record(items, options);
        return _inner.ProcessManyStreamAsync(items, processor, orderedOutput, options, cancellationToken);
    }

    public ValueTask DisposeAsync() => _inner.DisposeAsync();

    private void Record<TItem>(IEnumerable<TItem> items, ProcessManyOptions? options)
    {
        OnCall?.Invoke();
        Batches.Add(items.Count());
        Lists.Add(items);
        Options.Add(options);
    }
}
