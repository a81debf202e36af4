using System.CommandLine;
using Weir.Cli.Hosting;
using Weir.Cli.Settings;

namespace Weir.Cli.Results.Writing;

/// <summary>The options that all measuring commands share.</summary>
internal sealed class OutputOptionSet
{
    /// <summary>The forms of a file.</summary>
    public static readonly string[] Forms = ["md", "csv", "json", "html"];

    private readonly Option<bool> _json = new("--json") { Description = "Print JSON and nothing else" };
    private readonly Setting _export = Setting.Of("--export", null, "FORM,...", "Also write files: md, csv, json, html");
    private readonly Setting _out = Setting.Of("--out", null, "DIR", "Where the files go. Default: here");
    private readonly Option<bool> _quiet = new("--quiet") { Description = "No progress" };
    private readonly Option<bool> _strict = new("--strict") { Description = "Exit code 4 when the result is inconclusive" };

    public void AddTo(Command command)
    {
        command.Add(_json);
        command.Add(_export.Flag);
        command.Add(_out.Flag);
        command.Add(_quiet);
        command.Add(_strict);
    }

    /// <exception cref="BadInputException">A value cannot be used.</exception>
    public OutputSettings Read(ParseResult parsed)
    {
        Given? export = _export.Find(parsed, static _ => null);
        string[] forms = export?.Text.Split(',', StringSplitOptions.TrimEntries).Distinct().ToArray() ?? [];
        if (forms.Any(static f => !Forms.Contains(f)))
        {
            throw export!.Bad("md, csv, json and html, between commas");
        }

        Given? directory = _out.Find(parsed, static _ => null);
        if (directory is { Text: "" })
        {
            throw directory.Bad("a directory");
        }

        return new OutputSettings(parsed.GetValue(_json), forms, directory?.Text ?? ".", parsed.GetValue(_quiet), parsed.GetValue(_strict));
    }
}
