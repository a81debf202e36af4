using System.Globalization;
using System.Text.RegularExpressions;
using Weir.Cli.Kit.Options;
using Weir.Lab;
using Weir.Lab.Latency;
using Weir.Lab.Report.Page;
using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;
using Weir.Lab.Statistics;

namespace Weir.Cli.Kit.Output;

/// <summary>Writes a result in all requested formats, and returns the exit code of the command.</summary>
internal static class ResultOutput
{
    /// <param name="result">The result.</param>
    /// <param name="settings">The forms.</param>
    /// <param name="host">Where they go.</param>
    /// <param name="text">Writes it for people; <see langword="null"/> for all that there is.</param>
    public static int Write(ResultFile result, OutputSettings settings, CliHost host, Action<ResultFile, TextWriter, TextStyle>? text = null)
    {
        (Finding Finding, bool IsBroken)[] found = [.. settings.Thresholds.SelectMany(t => t.Check(result))];
        result = result with { Findings = [.. result.Findings, .. found.Select(static f => f.Finding)] };
        if (settings.Json)
        {
            host.Out.WriteLine(ResultJson.Write(result));
        }
        else
        {
            (text ?? ResultText.Write)(result, host.Out, host.Style);
        }

        int code = ExportWithCode(result, settings, host);
        if (code is not (ExitCode.Success or ExitCode.Inconclusive) || !Array.Exists(found, static f => f.IsBroken))
        {
            return code;
        }

        host.Say(Array.Find(found, static f => f.IsBroken).Finding.Text);
        return ExitCode.Regression;
    }

    /// <summary>Writes the requested files, and returns the exit code of the command.</summary>
    public static int ExportWithCode(ResultFile result, OutputSettings settings, CliHost host)
    {
        Export(result, settings, $"weir-{result.Command}", host);
        return Code(result, settings.Strict, host);
    }

    /// <summary>Writes the requested files.</summary>
    public static void Export(ResultFile result, OutputSettings settings, string name, CliHost host)
    {
        foreach ((string file, string text) in settings.Exports.SelectMany(form => Files(result, form, name)))
        {
            string path = Path.Combine(settings.Directory, file);
            WriteFile(path, text);
            if (!settings.Quiet)
            {
                host.Error.WriteLine($"wrote {path}");
            }
        }

        if (settings.Exports.Contains(ProfileFiles.Form) && !ProfileFiles.Of(result, name).Any())
        {
            host.Say("no speedscope file was written, because this result has no profile; --profile makes one.");
        }

        if (settings.Exports.Contains(LatencyFiles.Form) && !LatencyFiles.Of(result, name).Any())
        {
            host.Say($"no .{LatencyFiles.Form} file was written, because this result has no latencies.");
        }
    }

    /// <summary>Makes sure that the files of a command can be written, before it measures for long.</summary>
    public static void CheckCanExport(OutputSettings settings, string command)
    {
        if (settings.Exports.Count == 0)
        {
            return;
        }

        CheckCanWrite(Path.Combine(settings.Directory, $".weir-{command}-{Environment.ProcessId}"));
        foreach (string form in settings.Exports.Where(static f => f is not (LatencyFiles.Form or ProfileFiles.Form)))
        {
            CheckCanWrite(Path.Combine(settings.Directory, $"weir-{command}.{form}"));
        }
    }

    /// <summary>Makes sure that a file can be written, and leaves the one that is there as it is.</summary>
    public static void CheckCanWrite(string path) => Writing(path, WritableFile.Check);

    /// <summary>Writes a file, and makes its directory.</summary>
    public static void WriteFile(string path, string text) => Writing(path, path => File.WriteAllText(path, text));

    private static void Writing(string path, Action<string> write)
    {
        try
        {
            if (Path.GetDirectoryName(Path.GetFullPath(path)) is { } directory)
            {
                Directory.CreateDirectory(directory);
            }

            write(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new BadInputException($"'{path}' cannot be written: {e.Message}");
        }
    }

    private static IEnumerable<(string File, string Text)> Files(ResultFile result, string form, string name) => form switch
    {
        "md" => [($"{name}.md", ResultMarkdown.Write(result))],
        "csv" => [($"{name}.csv", ResultCsv.Write(result))],
        "json" => [($"{name}.json", ResultJson.Write(result) + "\n")],
        LatencyFiles.Form => LatencyFiles.Of(result, name),
        ProfileFiles.Form => ProfileFiles.Of(result, name),
        _ => [($"{name}.html", HtmlPage.Write([result]))],
    };

    private static int Code(ResultFile result, bool strict, CliHost host)
    {
        // Before anything else: a stopped run has too few valid rounds because it was stopped.
        bool isStopped = result.Partial && host.Stop.IsCancellationRequested;
        if (result.Has(FindingLevel.Invalid) && !isStopped)
        {
            host.Say($"the measurement is invalid: {result.Findings.First(static f => f.Level == FindingLevel.Invalid).Text}");
            return ExitCode.Invalid;
        }

        if (result.Partial)
        {
            host.Say("stopped; the completed part is reported as partial.");
            return ExitCode.Interrupted;
        }

        return strict && (result.Comparisons.Any(static c => c.Verdict == Verdict.Inconclusive) || result.Has(FindingLevel.Doubt))
            ? ExitCode.Inconclusive
            : ExitCode.Success;
    }
}

/// <summary>The options that all measuring commands share.</summary>
/// <param name="metrics">The metrics that <c>--fail-if</c> may name; <see langword="null"/> for commands that decide in another way.</param>
internal sealed class OutputOptionSet(IReadOnlyList<string>? metrics = null)
{
    public static readonly string[] Forms = ["md", "csv", "json", "html", LatencyFiles.Form, ProfileFiles.Form];

    private readonly Option<bool> _json = new("--json") { Description = "Print JSON and nothing else" };
    private readonly TextOption _export =
        TextOption.Of("--export", null, "FORM,...", "Also write files: md, csv, json, html, hgrm (latencies), speedscope (profiles)");
    private readonly TextOption _out = TextOption.Of("--out", null, "DIR", "The directory for the files. Default: the current directory");
    private readonly Option<bool> _quiet = new("--quiet") { Description = "No progress" };
    private readonly Option<bool> _strict = new("--strict") { Description = "Exit code 4 if the result is inconclusive" };

    private readonly Option<string[]> _failIf = new(Threshold.Flag)
    {
        HelpName = "CONDITION", Description = "Exit code 2 if anything measured meets the condition, such as " + (metrics?[0] is "p50" ? "'p50>50ms' or " : "")
            + "'rate<1000/s'",
    };

    public IReadOnlyList<Option> Options => [_json, _export, _out, _quiet, _strict, .. metrics is null ? [] : (Option[])[_failIf]];

    /// <summary>Adds them to a command.</summary>
    /// <param name="command">The command.</param>
    /// <param name="hasOwnJson">Whether the command has an option <c>--json</c> of its own.</param>
    public void AddTo(Command command, bool hasOwnJson = false) => command.AddAll(Options.Skip(hasOwnJson ? 1 : 0));

    /// <summary>Reads the options, and checks that the files can be written, so that minutes of measuring are not lost because of a directory.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="command">The command that the result is called after; <see langword="null"/> for the one that was given.</param>
    /// <exception cref="BadInputException">A value cannot be used, or a file cannot be written.</exception>
    public OutputSettings Read(ParseResult parsed, string? command = null)
    {
        OptionValue? export = _export.Find(parsed);
        string[] forms = FormsOf(export);

        OptionValue? directory = _out.Find(parsed);
        if (directory is { Text: "" })
        {
            throw directory.Bad("a directory");
        }

        OutputSettings settings = new(parsed.GetValue(_json), forms, directory?.Text ?? ".", parsed.GetValue(_quiet), parsed.GetValue(_strict))
        {
            // Before anything is measured.
            Thresholds = metrics is null ? [] : [.. (parsed.GetValue(_failIf) ?? []).Select(t => Threshold.Parse(t, metrics))],
        };
        ResultOutput.CheckCanExport(settings, command ?? parsed.CommandResult.Command.Name);
        return settings;
    }

    /// <summary>The forms that a value names, each once.</summary>
    public static string[] FormsOf(OptionValue? export)
    {
        string[] forms = export?.Text.Split(',', StringSplitOptions.TrimEntries).Distinct().ToArray() ?? [];
        return forms.All(static f => Forms.Contains(f)) ? forms : throw export!.Bad($"{string.Join(", ", Forms[..^1])} and {Forms[^1]}, separated by commas");
    }
}

/// <summary>The output settings of a result.</summary>
/// <param name="Json">Whether the output is JSON and nothing else.</param>
/// <param name="Exports">The forms that are written to files.</param>
/// <param name="Directory">Where the files go.</param>
/// <param name="Quiet">Whether progress is left out.</param>
/// <param name="Strict">Whether an inconclusive result is a failure.</param>
internal sealed record OutputSettings(bool Json, IReadOnlyList<string> Exports, string Directory, bool Quiet, bool Strict)
{
    /// <summary>The conditions under which the command fails.</summary>
    public IReadOnlyList<Threshold> Thresholds { get; init; } = [];
}

/// <summary>A condition under which a run fails, such as <c>p99&gt;50ms</c>.</summary>
/// <param name="Text">As it was given.</param>
/// <param name="Metric">What is looked at.</param>
/// <param name="Comparison">How it is compared with the limit.</param>
/// <param name="Limit">The limit, in nanoseconds, operations per second, a share, or bytes.</param>
internal sealed partial record Threshold(string Text, string Metric, string Comparison, double Limit)
{
    public const string Flag = "--fail-if";

    /// <summary>The metrics of commands that time each operation.</summary>
    public static readonly string[] OfOperations = ["p50", "p90", "p99", "p99.9", "p99.99", "mean", "max", "rate", "failures", "bytes"];

    /// <summary>The metrics of commands that time many items together.</summary>
    public static readonly string[] OfItems = ["mean", "rate", "failures", "bytes"];

    /// <summary>The metrics of programs, of which a run is the operation.</summary>
    public static readonly string[] OfPrograms = ["p50", "mean", "max", "rate"];

    /// <summary>The metrics of BenchmarkDotNet's reports.</summary>
    public static readonly string[] OfBenchmarks = ["mean", "rate", "bytes"];

    private static readonly string[] Examples = ["p99>50ms", "mean>1s", "rate<1000/s", "failures>1%", "bytes>1KB"];

    /// <summary>Reads a condition.</summary>
    /// <param name="text">As it was given.</param>
    /// <param name="metrics">Those that the command has.</param>
    public static Threshold Parse(string text, IReadOnlyList<string> metrics)
    {
        OptionValue given = new(Flag, text);
        if (Condition().Match(text) is not { Success: true } match || !metrics.Contains(match.Groups["metric"].Value, StringComparer.OrdinalIgnoreCase))
        {
            string[] examples = [.. Examples
                .Where(e => metrics.Any(m => e.StartsWith(m, StringComparison.Ordinal) && !char.IsAsciiLetterOrDigit(e[m.Length])))];
            throw given.Bad($"a metric ({string.Join(", ", metrics.SkipLast(1))} or {metrics[^1]}), then >, >=, < or <=, then a limit, such as "
                + $"{string.Join(", ", examples.SkipLast(1))} or {examples[^1]}");
        }

        string metric = match.Groups["metric"].Value.ToLowerInvariant();
        OptionValue limit = new($"The limit of {Flag} '{text}'", match.Groups["limit"].Value);
        return new Threshold(text, metric, match.Groups["comparison"].Value, metric switch
        {
            "rate" => limit.PerSecond(0, 1e12, "operations"),
            "failures" => limit.Share(0, 1),
            "bytes" => limit.Bytes(0, 1L << 40, "1KB"),
            _ => limit.Time(TimeSpan.FromTicks(1), TimeSpan.FromHours(1), "50ms").TotalNanoseconds,
        });
    }

    /// <summary>What a result says to it: a finding for each arm that breaks it, and for each of which it cannot be told.</summary>
    public IEnumerable<(Finding Finding, bool IsBroken)> Check(ResultFile result)
    {
        foreach (ArmRecord arm in result.Arms.Where(static a => a.IsMeasured))
        {
            if (ValueOf(arm, result.Machine.ClockNs) is not { } value)
            {
                yield return (new Finding(FindingLevel.Invalid, $"{arm.Label}: {Flag} '{Text}' cannot be decided, because {Metric} is not known here."), false);
            }
            else if (IsBroken(value))
            {
                yield return (new Finding(FindingLevel.Doubt, $"{arm.Label}: {Metric} is {Words(value)}, which {Flag} '{Text}' does not allow."), true);
            }
        }
    }

    private bool IsBroken(double value) => Comparison switch
    {
        ">" => value > Limit,
        ">=" => value >= Limit,
        "<" => value < Limit,
        _ => value <= Limit,
    };

    private double? ValueOf(ArmRecord arm, double clock)
    {
        switch (Metric)
        {
            case "rate":
                return arm.Rate().Median;
            case "failures":
                double failed = arm.Counted.Sum(static r => r.Failures);
                return failed + arm.Counted.Sum(static r => r.Operations) is > 0 and var all ? failed / all : null;
            case "bytes":
                RoundRecord[] read = [.. arm.Counted.Where(static r => r.AllocatedBytes is not null)];
                return read.Sum(static r => r.Operations) is > 0 and var operations
                    ? read.Sum(static r => (double)r.AllocatedBytes!.Value) / operations
                    : null;
        }

        double[] times = [.. arm.Counted.Where(static r => r.Operations > 0).Select(static r => r.Seconds / r.Operations * 1e9).Order()];
        bool isOfRounds = times.Length > 0 && arm.Counted.All(static r => r.Service is null);

        // With a rate, the time from the intended start is what a user would have waited.
        LatencyHistogram? latency = arm.Latency(static r => r.Response) ?? arm.Latency(static r => r.Service);
        return (latency, Metric) switch
        {
            (null, "mean") when isOfRounds => times.Average(),
            (null, "max") when isOfRounds => times[^1],
            (null, "p50") when isOfRounds => Spread.Of(times).Median,
            (null, _) => null,
            (_, "mean") => latency.Mean,
            (_, "max") => latency.Max,
            _ => KnownPercentile.Of(latency, double.Parse(Metric.AsSpan(1), CultureInfo.InvariantCulture), clock)?.Nanoseconds,
        };
    }

    private string Words(double value) => Metric switch
    {
        "rate" => Numbers.Rate(value) + "/s",
        "failures" => FormattableString.Invariant($"{value * 100:0.####} %"),
        "bytes" => Numbers.Bytes(value),
        _ => Numbers.Nanoseconds(value),
    };

    [GeneratedRegex(@"^\s*(?<metric>[a-z0-9.]+)\s*(?<comparison>>=|<=|>|<)\s*(?<limit>\S.*?)\s*$", RegexOptions.IgnoreCase)]
    private static partial Regex Condition();
}
