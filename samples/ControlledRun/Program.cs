using Weir;

int rows = args.Length > 0 ? int.Parse(args[0]) : 5_000;
RunControl control = new();
using CancellationTokenSource atOnce = new();

// The first Ctrl-C stops softly: rows that have begun are finished. The second cancels them.
Console.CancelKeyPress += (_, key) =>
{
    key.Cancel = true;
    if (control.IsStopped)
    {
        atOnce.Cancel();
    }

    control.Stop();
};

// A thread of its own, because reading the console blocks.
new Thread(ReadCommands) { IsBackground = true }.Start();

int imported = 0;
ItemOutcome<int, int>[] outcomes = await Enumerable.Range(0, rows).SelectParallelOutcomesAsync(
    ImportAsync,
    new ParallelRunOptions { MaxDegreeOfParallelism = 2, Control = control, Output = new() { ReturnOutcomesOnCancellation = true } },
    atOnce.Token);

int done = outcomes.Count(outcome => outcome.IsSuccess);
Console.WriteLine($"{done} of {rows} rows imported, {rows - done} left");
return done == rows ? 0 : 130;

async Task<int> ImportAsync(int row, CancellationToken token)
{
    await Task.Delay(10, token);
    if (Interlocked.Increment(ref imported) == 100)
    {
        Console.WriteLine("100 rows imported");
    }

    return row;
}

void ReadCommands()
{
    while (Console.ReadLine() is { } command)
    {
        if (command == "pause")
        {
            control.Pause();
        }
        else if (command == "resume")
        {
            control.Resume();
        }
        else if (int.TryParse(command, out int limit) && limit > 0)
        {
            control.MaxDegreeOfParallelism = limit;
        }

        RunControlSnapshot now = control.Snapshot();
        string state = now.IsPaused ? "paused" : now.IsStopped ? "stopping" : $"running, at most {now.MaxDegreeOfParallelism ?? 2} at once";
        Console.WriteLine($"{state}: {now.Succeeded} done, {now.InFlight} in flight");
    }
}
