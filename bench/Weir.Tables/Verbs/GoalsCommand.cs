using Weir.Cli.Kit.Pages;
using Weir.Tables.Page;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>goals</c>, which judges the goals of pages anew and measures nothing.</summary>
internal static class GoalsCommand
{
    /// <summary>Makes the command.</summary>
    public static Command Create(TextWriter errors)
    {
        Option<FileInfo?> page = SuiteOptions.Output("The page whose goals are judged, such as docs/results/core.md.");
        page.Required = true;
        Command command = new("goals", "Judges the goals of a page anew. By the figures that stand on it; measures nothing.") { page };
        command.SetAction(async (parsed, token) =>
        {
            FileInfo file = parsed.GetValue(page)!;
            if (!file.Exists)
            {
                throw new BadInputException($"--output must be a page that exists; there is no {file}.");
            }

            PageFile.Check(file);
            string before = PageFile.Read(file);
            string after = PageAnswer.Put(StoredGoals.Judge(before));
            await File.WriteAllTextAsync(file.FullName, after, token);
            string[] lines = after.Split('\n').Except(before.Split('\n')).ToArray();
            await errors.WriteLineAsync(Invariant($"{file.Name}: {lines.Length} lines are other ones now"));
            return ExitCode.Success;
        });
        return command;
    }
}
