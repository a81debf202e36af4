using System.CommandLine.Help;
using System.CommandLine.Invocation;

namespace Weir.Cli.Kit.App;

/// <summary>
/// The help of a program on one screen: a line for each command. The help of a command is the parser's, without its rare options, which are hidden.
/// </summary>
/// <param name="isWhole">Whether the rare options are shown too.</param>
internal sealed class ScreenHelp(bool isWhole = false) : SynchronousCommandLineAction
{
    /// <summary>The option that shows the rare options too.</summary>
    public const string WholeHelp = "--help-all";

    /// <summary>The longest line of a command.</summary>
    public const int LongestLine = 60;

    public override bool ClearsParseErrors => true;

    public override int Invoke(ParseResult parseResult)
    {
        if (parseResult.CommandResult.Parent is not null)
        {
            return InvokeOf(parseResult);
        }

        Command program = parseResult.CommandResult.Command;
        TextWriter output = parseResult.InvocationConfiguration.Output;
        output.WriteLine(program.Description);
        output.WriteLine();
        Command[] commands = [.. program.Subcommands.Where(static c => !c.Hidden)];
        int width = commands.Max(static c => c.Name.Length);
        foreach (Command command in commands)
        {
            output.WriteLine($"  {command.Name.PadRight(width)}  {FirstSentence(command.Description ?? "")}");
        }

        output.WriteLine();
        output.WriteLine($"'{program.Name} VERB --help' lists the options of a verb.");
        return 0;
    }

    private int InvokeOf(ParseResult parsed)
    {
        Option[] rare = [.. parsed.CommandResult.Command.Options.Where(static o => o.Hidden)];
        foreach (Option option in rare)
        {
            option.Hidden = !isWhole;
        }

        int code = new HelpAction().Invoke(parsed);
        if (rare.Length > 0 && !isWhole)
        {
            parsed.InvocationConfiguration.Output.WriteLine($"'{CliApp.PathOf(parsed)} {WholeHelp}' lists {rare.Length} more, rarely needed.");
        }

        return code;
    }

    private static string FirstSentence(string text) => text.IndexOf(". ", StringComparison.Ordinal) is >= 0 and int end ? text[..(end + 1)] : text;
}
