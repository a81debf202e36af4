using System.Globalization;
using Weir.Cli.Hosting;
using Weir.Cli.Load.Arms;
using Weir.Cli.Output;

namespace Weir.Cli.Load.Report;

/// <summary>Writes a report for people: the knobs, the figures of each runtime as lines of key and value, and a table over all arms.</summary>
internal static class LoadText
{
    public static void Write(LoadReport report, CliHost host)
    {
        TextWriter output = host.Out;
        output.WriteLine("weir-load");
        WriteKnobs(report, output);
        foreach (LoadRow row in report.Rows.Where(static row => row.Choice is not null))
        {
            output.WriteLine();
            if (report.Rows.Count(static row => row.Choice is not null) > 1)
            {
                Line(output, "runtime", row.Name);
            }

            WriteFigures(row, report.Knobs, output);
        }

        output.WriteLine();
        LoadTable.Write(report, host);
    }

    private static void WriteKnobs(LoadReport report, TextWriter output)
    {
        LoadKnobs knobs = report.Knobs;
        Line(output, "started_at", report.StartedAt.ToString("yyyy-MM-ddTHH:mm:sszzz", CultureInfo.InvariantCulture));
        Line(output, "dotnet", report.Machine.DotNet);
        Line(output, "machine", $"{report.Machine.Cores} cores, {report.Machine.Cpu}, {report.Machine.Os}, {report.Machine.Architecture}");
        Line(output, "gc", report.Machine.Gc);
        foreach ((string name, string value) in report.Machine.Variables)
        {
            Line(output, name, value);
        }

        Line(output, "runtime", report.Runtime);
        Line(output, "count", Numbers.Grouped(knobs.Count));
        Line(output, "batch_size", Numbers.Grouped(knobs.BatchSize));
        Line(output, "cdc_parallel_size", Numbers.Grouped(knobs.ParallelSize));
        Line(output, "cdc_concurrency", Numbers.Grouped(knobs.Concurrency));
        if (knobs.Sweep.Count > 0)
        {
            Line(output, "sweep", string.Join(',', knobs.Sweep));
        }

        Line(output, "timeout", knobs.Timeout is { } timeout ? Numbers.Time(timeout) : "none");
        Line(output, "preserve_order", knobs.PreserveOrder ? "true" : "false");
        Line(output, "warmup", Numbers.Grouped(knobs.Warmup));
        Line(output, "trials", Numbers.Grouped(knobs.Trials));
        if (knobs.Peers)
        {
            Line(output, "peer_degree", Numbers.Grouped(knobs.PeerDegree));
        }

        Line(output, "workload", knobs.Input is { } input ? $"sha-256 of the lines of {input.Path}" : knobs.Workload.ToString().ToLowerInvariant());
        Line(output, "work", report.Work);
        if (knobs.Watch)
        {
            Line(output, "watched", "true (each item was counted and timed, which is part of the figures)");
        }

        if (report.IsPartial)
        {
            Line(output, "partial", "true");
        }
    }

    private static void WriteFigures(LoadRow row, LoadKnobs knobs, TextWriter output)
    {
        if (!row.IsMeasured)
        {
            Line(output, "processed", "0");
            Line(output, "partial", "true");
            return;
        }

        Line(output, "processed", Numbers.Grouped(row.Processed));
        Line(output, "elapsed", string.Create(CultureInfo.InvariantCulture, $"{row.Elapsed:F6} sec"));
        Line(output, "throughput", $"{Numbers.Grouped(row.Throughput)} items/sec");
        Line(output, "gc_count", row.GcCount.ToString("#,0.##", CultureInfo.InvariantCulture));
        if (knobs.FailRate > 0)
        {
            Line(output, "failed", Numbers.Grouped(row.Failed));
        }

        if (knobs.Timeout is not null)
        {
            Line(output, "timed_out", Numbers.Grouped(row.TimedOut));
        }

        Line(output, "checksum", row.Checksum is { } checksum ? $"{checksum:x16} (verified)" : "none (no pass was completed)");
        foreach (LoadDecision decision in row.Decisions)
        {
            Line(output, "decision", $"{decision.Call} call, {decision.Decision}");
        }

        if (row.Result.IsPartial)
        {
            Line(output, "partial", "true");
        }
    }

    private static void Line(TextWriter output, string key, string value) => output.WriteLine($"{key}={value}");
}
