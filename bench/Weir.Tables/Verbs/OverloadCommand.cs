using Weir.Tables.Overload;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>overload</c>.</summary>
internal static class OverloadCommand
{
    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<int> seconds = SuiteOptions.Number("--seconds", "How long each load is measured, 8 s after it has begun.", 10, 2, 600);
        Option<int> minutes = SuiteOptions.Number("--minutes", "How long the capacity changes for Weir. A fifth of it for the others, and at least two.", 20, 2, 600);
        Option<string[]> only = SuiteOptions.Names(
            "--only", $"Which sections: {string.Join(", ", OverloadPage.Sections.Select(static s => s.Key))}. Without it, all, of about 52 minutes.");
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/overload.md. Its notes and the sections that are not measured are kept.");
        Command command = new(OverloadRun.Verb, "Measures a web server under overload. With nothing, Polly, a fixed limit and Weir.")
        {
            seconds, minutes, only, page,
        };
        command.SetAction((parsed, token) => TableCommand.RunAsync(() => new OverloadRun(output, errors).RunAsync(
            parsed.GetValue(seconds), parsed.GetValue(minutes), parsed.GetValue(only) ?? [], parsed.GetValue(page), token)));
        return command;
    }
}
