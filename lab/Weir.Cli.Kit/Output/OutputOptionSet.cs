using Weir.Cli.Kit.Options;
using Weir.Lab.Report.Writing;

namespace Weir.Cli.Kit.Output;

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
