namespace Weir.Core.Sinks;

/// <summary>Disposes of the results of a run that its caller does not get, each once. Only for runs whose caller asked for it.</summary>
/// <param name="resultOf">The result in what the run passes on; null if there is none.</param>
/// <param name="patience">How long the end of the run waits for the disposals; null for as long as they take.</param>
/// <param name="time">The clock for it.</param>
internal sealed class UnusedResults<T>(Func<T, object?> resultOf, TimeSpan? patience, TimeProvider time)
{
    /// <summary>Adds the disposable ones of some results. One that is there several times is added once.</summary>
    public void Add(ref HashSet<object>? unused, ReadOnlySpan<T> results)
    {
        foreach (T result in results)
        {
            if (DiscardedResult.DisposableOf(resultOf(result)) is { } disposable)
            {
                (unused ??= new HashSet<object>(ReferenceEqualityComparer.Instance)).Add(disposable);
            }
        }
    }

    /// <summary>Disposes of results, and waits for it, but no longer than the run waits for an item.</summary>
    public Task DisposeAsync(ReadOnlySpan<T> results)
    {
        HashSet<object>? unused = null;
        Add(ref unused, results);
        return DisposeAsync(unused);
    }

    /// <summary>The same for results that were added.</summary>
    public Task DisposeAsync(HashSet<object>? unused) => unused is null ? Task.CompletedTask : DropAllAsync(unused);

    private async Task DropAllAsync(HashSet<object> unused)
    {
        // On a thread of its own: one that blocks must not hold the run for longer than its rule says.
        Task dropping = Task.Run(() => DropEachAsync(unused));
        try
        {
            await (patience is { } limit ? dropping.WaitAsync(limit, time) : dropping).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            // The rest goes on alone.
        }
    }

    /// <summary>Begins all before it waits for any: one that hangs holds up no other.</summary>
    private static Task DropEachAsync(HashSet<object> unused)
    {
        List<Task> open = [];
        foreach (object result in unused)
        {
            Task dropping = DiscardedResult.DropAsync(result);
            if (!dropping.IsCompleted)
            {
                open.Add(dropping);
            }
        }

        return Task.WhenAll(open);
    }
}
