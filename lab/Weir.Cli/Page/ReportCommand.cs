using System.CommandLine;
using System.Text.RegularExpressions;
using Weir.Cli.Hosting;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;
using Weir.Cli.Settings;

namespace Weir.Cli.Page;

/// <summary>The <c>report</c> command: makes one page of result files, and writes their figures in other forms.</summary>
internal static partial class ReportCommand
{
    private const string DefaultFile = "report.html";

    public static Command Create(CliHost host)
    {
        Argument<string[]> files = new("FILE") { Description = "Result files (--export json), or pages made of them", Arity = ArgumentArity.OneOrMore };
        Setting output = Setting.Of("--out", null, "FILE", $"The page. Default {DefaultFile}");
        output.Flag.Aliases.Add("-o");
        Setting export = Setting.Of("--export", null, "FORM,...", "Also write each result beside the page: md, csv, json, html, hgrm (latencies, a file an arm)");
        Option<bool> json = new("--json") { Description = "Print the results as a list in JSON, and write no page unless --out names one" };
        Option<bool> quiet = new("--quiet") { Description = "Do not tell which files were written" };
        Command command = new("report", "Makes one page of result files: verdict, tables and plots, in a single file that needs no network and no script.") { files, output.Flag, export.Flag, json, quiet };
        command.SetAction((parsed, _) =>
        {
            Given? given = output.Find(parsed, static _ => null);
            string path = given is null ? DefaultFile : given.Text is { Length: > 0 } text ? text : throw given.Bad("a file");
            string[] forms = OutputOptionSet.FormsOf(export.Find(parsed, static _ => null));
            (string File, IReadOnlyList<ResultFile> Results)[] read = [.. parsed.GetRequiredValue(files).Select(static f => (f, Read(f)))];
            ResultFile[] results = [.. read.SelectMany(static r => r.Results)];
            bool isData = parsed.GetValue(json);
            if (isData)
            {
                host.Out.WriteLine(ResultJson.Write(results));
            }

            if (!isData || given is not null)
            {
                ResultOutput.WriteFile(path, ResultPage.Write(results));
                if (!isData && !parsed.GetValue(quiet))
                {
                    host.Out.WriteLine($"wrote {path}");
                }
            }

            OutputSettings settings = new(isData, forms, Path.GetDirectoryName(path) is { Length: > 0 } directory ? directory : ".", parsed.GetValue(quiet), Strict: false);
            foreach ((string file, IReadOnlyList<ResultFile> of) in read)
            {
                for (int i = 0; i < of.Count; i++)
                {
                    ResultOutput.Export(of[i], settings, Path.GetFileNameWithoutExtension(file) + (of.Count > 1 ? $"-{i + 1}" : ""), host);
                }
            }

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
