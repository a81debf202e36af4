using Weir.Runtimes;

namespace Weir.Cli.Tests.Support;

/// <summary>A direct runtime in whose n-th call someone presses Ctrl-C; that call still ends well.</summary>
internal sealed class StoppingRuntime(CancellationTokenSource stop, int call) : IExecutionRuntime
{
    private readonly DirectRuntime _inner = new();
    private int _calls;

    public string Name => "stopping";

    public RuntimeStatistics Statistics => _inner.Statistics;

    public async Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        ItemOutcome<TItem, TResult>[] outcomes = await _inner.ProcessManyAsync(items, processor, options, CancellationToken.None);
        if (++_calls == call)
        {
            await stop.CancelAsync();
        }

        return outcomes;
    }

    public IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    public ValueTask DisposeAsync() => _inner.DisposeAsync();
}
