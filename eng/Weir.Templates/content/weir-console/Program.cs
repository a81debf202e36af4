using Weir;

// The first Ctrl-C ends the run and keeps what was done; the second one ends the program.
using CancellationTokenSource stop = new();
Console.CancelKeyPress += (_, key) =>
{
    key.Cancel = !stop.IsCancellationRequested;
    stop.Cancel();
};

string[] items = args.Length > 0 ? args : ["one", "two", "three"];
ParallelRunOptions options = new()
{
    MaxDegreeOfParallelism = 16, // What the other side bears. Without it: one for each processor.
    Retry = new() { MaxRetries = 3 }, // Of time limits, sockets and busy servers; IsTransient adds others.
    AttemptTimeout = TimeSpan.FromSeconds(10),
    Output = new() { ReturnOutcomesOnCancellation = true },
};

var outcomes = await items.SelectParallelOutcomesAsync(ProcessAsync, options, stop.Token);
foreach (var (item, outcome) in items.Zip(outcomes))
{
    Console.WriteLine(outcome.IsSuccess ? $"{item}: {outcome.Value}" : $"{item}: {outcome.Status} {outcome.Error?.Message}");
}

return outcomes.All(outcome => outcome.IsSuccess) ? 0 : 1;

// Runs for several items at once. Pass the token on.
static async Task<int> ProcessAsync(string item, CancellationToken token)
{
    await Task.Delay(100, token);
    return item.Length;
}
