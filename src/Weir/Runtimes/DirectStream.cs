namespace Weir.Runtimes;

/// <summary>A stream of a <see cref="DirectRuntime"/>: each step of its consumer runs one item.</summary>
internal sealed class DirectStream<TItem, TResult>(
    IReadOnlyList<TItem> items,
    Func<TItem, CancellationToken, ValueTask<TResult>> processor,
    ProcessManyOptions options,
    TimeProvider time,
    RuntimeCalls calls,
    RunControl? control,
    CancellationToken caller) : IAsyncEnumerable<(int Index, ItemOutcome<TResult> Outcome)>
{
    /// <summary>A check that runs before the first item.</summary>
    public Action<CancellationToken>? BeforeFirst { get; init; }

    public IAsyncEnumerator<(int Index, ItemOutcome<TResult> Outcome)> GetAsyncEnumerator(CancellationToken cancellationToken = default) =>
        RunAsync(cancellationToken);

    private async IAsyncEnumerator<(int Index, ItemOutcome<TResult> Outcome)> RunAsync(CancellationToken enumeratorToken)
    {
        caller.ThrowIfCancellationRequested();
        enumeratorToken.ThrowIfCancellationRequested();
        const string Operation = nameof(DirectRuntime.ProcessManyStreamAsync);
        using DirectCall<TItem, TResult> call = new(items, processor, options, time, calls, Operation, control, caller, enumeratorToken);
        BeforeFirst?.Invoke(enumeratorToken);
        int count = items.Count;
        call.Total = count;
        for (int index = 0; index < count; index++)
        {
            yield return (index, await call.RunOneAsync(index).ConfigureAwait(false));
        }

        caller.ThrowIfCancellationRequested();
        enumeratorToken.ThrowIfCancellationRequested();
    }
}
