using System.Runtime.CompilerServices;
using Weir.Runtimes;

namespace Weir.Cli.Tests.Support;

/// <summary>What is wrong with a <see cref="TamperedRuntime"/>.</summary>
public enum Fault
{
    /// <summary>One outcome is missing.</summary>
    Missing,

    /// <summary>One item has not run.</summary>
    NotRun,

    /// <summary>One item has the result of another.</summary>
    Wrong,

    /// <summary>Two results are in each other's place.</summary>
    Swapped,

    /// <summary>One item fails, though it should not.</summary>
    Failing,
}

/// <summary>A runtime that does one thing wrong, in the batch that has the given item.</summary>
internal sealed class TamperedRuntime(Fault fault, int victim) : IExecutionRuntime
{
    private readonly DirectRuntime _inner = new();

    public string Name => "tampered";

    public RuntimeStatistics Statistics => _inner.Statistics;

    public async Task<ItemOutcome<TItem, TResult>[]> ProcessManyAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        ProcessManyOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        int place = items.ToList().FindIndex(item => Equals(item, victim));
        ItemOutcome<TItem, TResult>[] outcomes = await _inner.ProcessManyAsync(
            items,
            (item, token) => fault == Fault.Failing && Equals(item, victim) ? throw new IOException("The disk is full.") : processor(item, token),
            options,
            cancellationToken);
        if (place < 0)
        {
            return outcomes;
        }

        int other = place == 0 ? 1 : place - 1;
        switch (fault)
        {
            case Fault.Missing:
                return outcomes[..^1];
            case Fault.NotRun:
                outcomes[place] = default;
                break;
            case Fault.Wrong:
                outcomes[place] = outcomes[other];
                break;
            case Fault.Swapped:
                (outcomes[place], outcomes[other]) = (outcomes[other], outcomes[place]);
                break;
        }

        return outcomes;
    }

    public async IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> ProcessManyStreamAsync<TItem, TResult>(
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask<TResult>> processor,
        bool orderedOutput = false,
        ProcessManyOptions? options = null,
        [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        ItemOutcome<TItem, TResult>[] outcomes = await ProcessManyAsync(items, processor, options, cancellationToken);

        // Backwards: a stream may come in any order.
        for (int i = outcomes.Length - 1; i >= 0; i--)
        {
            yield return (i, outcomes[i]);
        }
    }

    public ValueTask DisposeAsync() => _inner.DisposeAsync();
}
