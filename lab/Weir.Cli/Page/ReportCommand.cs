using System.CommandLine;
using System.Text.RegularExpressions;
using Weir.Cli.Hosting;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;
using Weir.Cli.Settings;

namespace Weir.Cli.Page;

/// <summary>The <c>report</c> command: makes one page of result files.</summary>
internal static partial class ReportCommand
{
    private const string DefaultFile = "report.html";

    public static Command Create(CliHost host)
    {
        Argument<string[]> files = new("FILE") { Description = "Result files (--export json), or pages made of them", Arity = ArgumentArity.OneOrMore };
        Setting output = Setting.Of("--out", null, "FILE", $"The page. Default {DefaultFile}");
        output.Flag.Aliases.Add("-o");
        Command command = new("report", "Makes one page of result files: verdict, tables and plots, in a single file that needs no network and no script.") { files, output.Flag };
        command.SetAction((parsed, _) =>
        {
            string path = output.Find(parsed, static _ => null) is { } given ? given.Text is { Length: > 0 } text ? text : throw given.Bad("a file") : DefaultFile;
            ResultFile[] results = [.. parsed.GetRequiredValue(files).SelectMany(Read)];
            ResultOutput.WriteFile(path, ResultPage.Write(results));
            host.Out.WriteLine($"wrote {path}");
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    /// <summary>The results of a file: one of a result file, all of a page.</summary>
    /// <exception cref="BadInputException">The file has none.</exception>
    public static IReadOnlyList<ResultFile> Read(string path)
    {
        if (!path.EndsWith(".html", StringComparison.OrdinalIgnoreCase))
        {
            return [ResultJson.Read(path)];
        }

        string page;
        try
        {
            page = File.ReadAllText(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new BadInputException($"The page '{path}' cannot be read: {e.Message}");
        }

        ResultFile[] results = [.. Embedded().Matches(page).Select(m => ResultJson.Parse(m.Groups[1].Value, path))];
        return results.Length > 0 ? results : throw new BadInputException($"'{path}' is not a page that this program made.");
    }

    [GeneratedRegex("<script type=\"application/json\" id=\"[^\"]*result\">(.*?)</script>", RegexOptions.Singleline)]
    private static partial Regex Embedded();
}
