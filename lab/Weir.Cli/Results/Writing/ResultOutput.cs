using Weir.Cli.Hosting;
using Weir.Cli.Page;

namespace Weir.Cli.Results.Writing;

/// <summary>Gives out a result in all the forms that were asked for, and says with which code the command ends.</summary>
internal static class ResultOutput
{
    public static int Write(ResultFile result, OutputSettings settings, CliHost host)
    {
        if (settings.Json)
        {
            host.Out.WriteLine(ResultJson.Write(result));
        }
        else
        {
            ResultText.Write(result, host);
        }

        foreach (string form in settings.Exports)
        {
            string path = Path.Combine(settings.Directory, $"weir-{result.Command}.{form}");
            string text = form switch
            {
                "md" => ResultMarkdown.Write(result),
                "csv" => ResultCsv.Write(result),
                "json" => ResultJson.Write(result) + "\n",
                _ => ResultPage.Write([result]),
            };
            WriteFile(path, text);
            if (!settings.Quiet)
            {
                host.Error.WriteLine($"wrote {path}");
            }
        }

        return Code(result, settings.Strict, host);
    }

    /// <summary>Writes a file, and makes its directory.</summary>
    /// <exception cref="BadInputException">It cannot be written.</exception>
    public static void WriteFile(string path, string text)
    {
        try
        {
            if (Path.GetDirectoryName(Path.GetFullPath(path)) is { } directory)
            {
                Directory.CreateDirectory(directory);
            }

            File.WriteAllText(path, text);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new BadInputException($"'{path}' cannot be written: {e.Message}");
        }
    }

    private static int Code(ResultFile result, bool strict, CliHost host)
    {
        if (result.Has(FindingLevel.Invalid))
        {
            host.Error.WriteLine($"weir: the measurement is invalid: {result.Findings.First(static f => f.Level == FindingLevel.Invalid).Text}");
            return ExitCode.Invalid;
        }

        if (result.Partial)
        {
            host.Error.WriteLine("weir: stopped; what was done until then is reported as partial.");
            return ExitCode.Interrupted;
        }

        return strict && (result.Comparisons.Any(static c => c.Verdict == "INCONCLUSIVE") || result.Has(FindingLevel.Doubt)) ? ExitCode.Inconclusive : ExitCode.Success;
    }
}
