using System.Globalization;
using Weir.Cli.Commands.Load.Arms;
using Weir.Cli.Commands.Load.Options;
using Weir.Cli.Hosting;
using Weir.Lab.Formatting;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>Writes a report for people: the settings, the figures of each runtime as lines of key and value, and a table over all arms.</summary>
internal static class LoadText
{
    public static void Write(LoadReport report, CliHost host)
    {
        TextWriter output = host.Out;
        output.WriteLine("weir-load");
        WriteSettings(report, output);
        foreach (LoadRow row in report.Rows.Where(static row => row.Choice is not null))
        {
            output.WriteLine();
            if (report.Rows.Count(static row => row.Choice is not null) > 1)
            {
                Line(output, "runtime", row.Name);
            }

            WriteFigures(row, report.Settings, output);
        }

        output.WriteLine();
        LoadTable.Write(report, host);
    }

    private static void WriteSettings(LoadReport report, TextWriter output)
    {
        LoadSettings settings = report.Settings;
        Line(output, "started_at", report.StartedAt.ToString("yyyy-MM-ddTHH:mm:sszzz", CultureInfo.InvariantCulture));
        Line(output, "dotnet", report.Machine.DotNet);
        Line(output, "machine", $"{report.Machine.Cores} cores, {report.Machine.Cpu}, {report.Machine.Os}, {report.Machine.Architecture}");
        Line(output, "gc", report.Machine.Gc);
        foreach ((string name, string value) in report.Machine.Variables)
        {
            Line(output, name, value);
        }

        Line(output, "runtime", report.Runtime);
        Line(output, "count", Numbers.Grouped(settings.Count));
        Line(output, "batch_size", Numbers.Grouped(settings.BatchSize));
        Line(output, "cdc_parallel_size", Numbers.Grouped(settings.ParallelSize));
        Line(output, "cdc_concurrency", Numbers.Grouped(settings.Concurrency));
        if (settings.Sweep.Count > 0)
        {
            Line(output, "sweep", string.Join(',', settings.Sweep));
        }

        Line(output, "timeout", settings.Timeout is { } timeout ? Numbers.Time(timeout) : "none");
        Line(output, "preserve_order", settings.PreserveOrder ? "true" : "false");
        Line(output, "warmup", Numbers.Grouped(settings.Warmup));
        Line(output, "trials", Numbers.Grouped(settings.Trials));
        if (settings.Peers)
        {
            Line(output, "peer_degree", Numbers.Grouped(settings.PeerDegree));
        }

        Line(output, "workload", settings.Input is { } input ? $"sha-256 of the lines of {input.Path}" : settings.Workload);
        Line(output, "work", report.Work);
        if (settings.Watch)
        {
            Line(output, "watched", "true (each item was counted and timed, which is part of the figures)");
        }

        if (report.IsPartial)
        {
            Line(output, "partial", "true");
        }
    }

    private static void WriteFigures(LoadRow row, LoadSettings settings, TextWriter output)
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
        if (settings.FailRate > 0)
        {
            Line(output, "failed", Numbers.Grouped(row.Failed));
        }

        if (settings.Timeout is not null)
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
