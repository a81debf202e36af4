using System.CommandLine;
using System.CommandLine.Help;
using System.CommandLine.Invocation;

namespace Weir.Cli.Kit.App;

/// <summary>The help of a program on one screen: a line for each command. The help of a command is the parser's.</summary>
internal sealed class ScreenHelp : SynchronousCommandLineAction
{
    /// <summary>The longest line of a command.</summary>
    public const int LongestLine = 60;

    public override bool ClearsParseErrors => true;

    public override int Invoke(ParseResult parseResult)
    {
        if (parseResult.CommandResult.Parent is not null)
        {
            return new HelpAction().Invoke(parseResult);
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

    private static string FirstSentence(string text) => text.IndexOf(". ", StringComparison.Ordinal) is >= 0 and int end ? text[..(end + 1)] : text;
}
