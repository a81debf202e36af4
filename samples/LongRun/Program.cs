using System.Diagnostics.Metrics;
using Weir;
using Weir.Observability;

int rows = args.Length > 0 ? int.Parse(args[0]) : 2_000;

// What a meter provider does with AddMeter(WeirDiagnostics.MeterName), by hand: add up the items that ended.
long counted = 0;
using MeterListener listener = new()
{
    InstrumentPublished = (instrument, self) =>
    {
        if (instrument.Meter.Name == WeirDiagnostics.MeterName && instrument.Name == "weir.items")
        {
            self.EnableMeasurementEvents(instrument);
        }
    },
};
listener.SetMeasurementEventCallback<long>((_, value, tags, _) =>
{
    foreach (KeyValuePair<string, object?> tag in tags)
    {
        counted = tag is { Key: "weir.outcome", Value: "succeeded" } ? value : counted;
    }
});
listener.Start();

await Enumerable.Range(0, rows).ForEachParallelAsync(ImportAsync, new ParallelRunOptions
{
    OperationName = "import.rows",
    MaxDegreeOfParallelism = 32,
    ErrorMode = ErrorMode.BestEffort,
    Progress = new ProgressOptions
    {
        ReportInterval = TimeSpan.FromMilliseconds(250),
        OnProgress = p => Console.WriteLine(p.IsFinal
            ? $"{p.OperationName}: {p.Succeeded} of {p.TotalItems} imported, {p.Failed} failed"
            : $"{p.PercentComplete:F0} %, {p.ItemsPerSecond:F0}/s, {p.EstimatedTimeRemaining:mm\\:ss} left"),
    },
    Metrics = new MetricsOptions
    {
        Tags = [new("tenant", "north")],
        SampleInterval = TimeSpan.FromMilliseconds(500),
        OnMetricsSample = m =>
        {
            Console.WriteLine($"in flight: {m.ActiveWorkers} of {m.ConcurrencyLimit}, failed: {m.FailureRate:P1}");
            return default;
        },
    },
});

listener.RecordObservableInstruments();
Console.WriteLine($"the meter counted {counted} items that succeeded");

static async Task ImportAsync(int row, CancellationToken token)
{
    await Task.Delay(10, token);
    if (row % 100 == 99)
    {
        throw new FormatException($"Row {row} has no date.");
    }
}
