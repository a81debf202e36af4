using System.Text;

namespace Weir.Dashboard.Tests;

/// <summary>Things that are live for as long as a test: a run that waits at a gate, and a queue with dead letters that is measured.</summary>
internal static class Things
{
    /// <summary>A run of some items that all wait.</summary>
    public static (RunControl Control, Task Run, TaskCompletionSource Gate) Run(string name, int items = 10)
    {
        RunControl control = new();
        TaskCompletionSource gate = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task run = Enumerable.Range(0, items).ForEachParallelAsync(
            async (_, token) => await gate.Task.WaitAsync(token),
            new ParallelRunOptions { OperationName = name, MaxDegreeOfParallelism = 2, Control = control },
            TestContext.Current.CancellationToken);
        return (control, run, gate);
    }

    public static string IdOf(string name, LiveKind kind) =>
        Assert.Single(WeirDiagnostics.Snapshot().Entries, entry => entry.Name == name && entry.Kind == kind).Id;

    /// <summary>The id of a limit that may have the name of others.</summary>
    public static string IdOf(SharedConcurrencyLimit limit) =>
        WeirDiagnostics.Snapshot().Entries.Single(entry => entry.Kind == LiveKind.Limit && WeirDiagnostics.Find<SharedConcurrencyLimit>(entry.Id) == limit).Id;

    /// <summary>A queue with dead letters, and gauges that have read it once.</summary>
    public static async Task<(MemoryWorkQueue<string> Queue, WorkGauges Gauges)> QueueAsync(string name, params (string Id, DeadLetterReason Reason, string Error, string Payload)[] letters)
    {
        MemoryWorkQueue<string> queue = new(name, WorkSerializer.Text);
        DateTimeOffset first = new(2026, 11, 1, 0, 0, 0, TimeSpan.Zero);
        await queue.DeadLetters.AddAsync([.. letters.Select((letter, i) => new DeadLetter
        {
            Id = letter.Id, Source = name, Reason = letter.Reason, Error = letter.Error, Time = first.AddHours(i), Payload = Encoding.UTF8.GetBytes(letter.Payload),
        })]);
        TaskCompletionSource read = new(TaskCreationOptions.RunContinuationsAsynchronously);
        WorkGauges gauges = WorkGauges.Start(queue, new WorkGaugeOptions { Interval = TimeSpan.FromHours(1), OnReading = _ => read.TrySetResult() });
        await read.Task.WithinAsync("the first reading of the queue");
        return (queue, gauges);
    }
}
