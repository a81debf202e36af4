using Weir.Runtimes;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Unused;

/// <summary>What gives its caller results, by name.</summary>
internal static class ResultForm
{
    public static readonly string[] Lists = ["list", "lazy list", "batches"];

    public static readonly string[] Streams = ["stream", "ordered stream", "lazy stream", "batch stream", "outcome stream", "detailed stream"];

    public static readonly string[] Outcomes = ["outcomes", "lazy outcomes", "detailed outcomes"];

    public static readonly string[] Runtimes = ["direct", "concurrent 3", "parallel 2", "auto 3", "direct with policies", "auto 3 with policies"];

    public static readonly string[] RuntimeStreams = [.. Runtimes.Select(static name => $"{name} as a stream")];

    public static string[] Operators => [.. Lists, .. Streams, .. Outcomes];

    public static string[] All => [.. Operators, .. Runtimes, .. RuntimeStreams];

    /// <summary>Runs the items.</summary>
    /// <returns>The results that the caller got.</returns>
    public static async Task RunAsync<TItem, TResult>(
        string form,
        TItem[] items,
        Func<TItem, CancellationToken, ValueTask<TResult>> call,
        ParallelRunOptions options,
        ICollection<TResult> got,
        int leavesAfter = int.MaxValue,
        CancellationToken token = default)
    {
        if (Runtimes.Concat(RuntimeStreams).Contains(form))
        {
            await CallAsync(form, items, call, options, got, leavesAfter, token);
            return;
        }

        IEnumerable<TItem> source = form.StartsWith("lazy", StringComparison.Ordinal) ? items.Select(static item => item).Where(static _ => true) : items;
        switch (form)
        {
            case "list" or "lazy list" or "batches":
                try
                {
                    List<TResult> list = form == "batches"
                        ? await source.BatchParallelAsync(1, (batch, stop) => call(batch[0], stop), options, token)
                        : await source.SelectParallelAsync(call, options, token);
                    list.ForEach(got.Add);
                }
                catch (ItemsFailedException<TResult> e)
                {
                    e.Results.ToList().ForEach(got.Add);
                    throw;
                }

                break;
            case "outcomes" or "lazy outcomes" or "detailed outcomes":
                Add(got, await source.SelectParallelOutcomesAsync(
                    call, options with { Output = options.Output with { IncludeDetails = form == "detailed outcomes" } }, token));
                break;
            case "outcome stream" or "detailed stream":
                await ReadAsync(
                    source.SelectParallelOutcomesStreamAsync(
                        call, options with { Output = options.Output with { IncludeDetails = form == "detailed stream" } }, token),
                    got,
                    leavesAfter);
                break;
            case "batch stream":
                await ReadAsync(
                    source.BatchParallelStreamAsync(1, (batch, stop) => call(batch[0], stop), options: options, cancellationToken: token), got, leavesAfter);
                break;
            default:
                await ReadAsync(source.SelectParallelStreamAsync(call, options with { OrderedOutput = form == "ordered stream" }, token), got, leavesAfter);
                break;
        }
    }

    private static async Task CallAsync<TItem, TResult>(
        string form,
        TItem[] items,
        Func<TItem, CancellationToken, ValueTask<TResult>> call,
        ParallelRunOptions options,
        ICollection<TResult> got,
        int leavesAfter,
        CancellationToken token)
    {
        string name = form.Replace(" as a stream", "", StringComparison.Ordinal);
        string runtimeName = name.Replace(" with policies", "", StringComparison.Ordinal);
        await using IExecutionRuntime runtime = RuntimeCases.Create(
            runtimeName, new RuntimeOptions { TimeProvider = options.TimeProvider, GracePeriod = Timeout.InfiniteTimeSpan });
        ProcessManyOptions used = name == runtimeName
            ? new() { PerItemTimeout = options.PerItemTimeout, DisposeUnusedResults = options.Output.DisposeUnusedResults }
            : new() { Policies = options with { ErrorMode = ErrorMode.FailFast } };
        if (form == name)
        {
            Add(got, await runtime.ProcessManyAsync(items, call, used, token));
        }
        else
        {
            await ReadAsync(runtime.ProcessManyStreamAsync(items, call, false, used, token), got, leavesAfter);
        }
    }

    private static void Add<TItem, TResult>(ICollection<TResult> got, IEnumerable<ItemOutcome<TItem, TResult>> outcomes)
    {
        foreach (ItemOutcome<TItem, TResult> outcome in outcomes.Where(static outcome => outcome.IsSuccess))
        {
            got.Add(outcome.Value);
        }
    }

    private static async Task ReadAsync<TResult>(IAsyncEnumerable<TResult> stream, ICollection<TResult> got, int leavesAfter)
    {
        await foreach (TResult result in stream)
        {
            got.Add(result);
            if (--leavesAfter == 0)
            {
                break;
            }
        }
    }

    private static async Task ReadAsync<TItem, TResult>(
        IAsyncEnumerable<(int Index, ItemOutcome<TItem, TResult> Outcome)> stream, ICollection<TResult> got, int leavesAfter)
    {
        await foreach ((_, ItemOutcome<TItem, TResult> outcome) in stream)
        {
            Add(got, [outcome]);
            if (--leavesAfter == 0)
            {
                break;
            }
        }
    }
}
