using Weir.Lab.Report.Page;

namespace Weir.Cli.Commands.Report;

/// <summary>The <c>report</c> command: combines result files into one page, and writes their figures in other formats.</summary>
internal static class ReportCommand
{
    private const string DefaultFile = "report.html";

    public const string Name = "report";

    public const string Description =
        "Makes one HTML page from result files. The page has verdict, tables and plots, and needs neither network nor scripts.";

    public static Command Create(WeirHost host)
    {
        Argument<string[]> files = new("FILE") { Description = "Result files (--export json), or pages made from them", Arity = ArgumentArity.OneOrMore };
        TextOption output = TextOption.Of("--out", null, "FILE", $"The page. Default {DefaultFile}");
        output.Aliases.Add("-o");
        TextOption export =
            TextOption.Of("--export", null, "FORM,...", "Also write each result beside the page: md, csv, json, html, hgrm (latencies), speedscope (profiles)");
        Option<bool> json = new("--json") { Description = "Print the results as a JSON list, and write no page unless --out names one" };
        Option<bool> quiet = new("--quiet") { Description = "Do not print the names of the written files" };
        Command command = new(Name, Description)
        {
            files, output, export, json, quiet,
        };
        command.SetAction((parsed, _) =>
        {
            OptionValue? given = output.Find(parsed);
            string path = given is null ? DefaultFile : given.NotEmpty("a file");
            string[] forms = OutputOptionSet.FormsOf(export.Find(parsed));
            (string File, IReadOnlyList<ResultFile> Results)[] read = [.. parsed.GetRequiredValue(files).Select(static f => (f, StoredResults.Read(f)))];
            ResultFile[] results = [.. read.SelectMany(static r => r.Results)];
            bool isData = parsed.GetValue(json);
            if (isData)
            {
                host.Out.WriteLine(ResultJson.Write(results));
            }

            if (!isData || given is not null)
            {
                ResultOutput.WriteFile(path, HtmlPage.Write(results));
                if (!isData && !parsed.GetValue(quiet))
                {
                    host.Out.WriteLine($"wrote {path}");
                }
            }

            OutputSettings settings =
                new(isData, forms, Path.GetDirectoryName(path) is { Length: > 0 } directory ? directory : ".", parsed.GetValue(quiet), Strict: false);
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
}
