using Weir.Lab;
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
