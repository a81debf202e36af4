using System.CommandLine.Help;
using System.CommandLine.Invocation;
using System.CommandLine.Parsing;
using System.Runtime.InteropServices;

namespace Weir.Cli.Kit.App;

/// <summary>Combines commands to a program, and reports their errors as one line on the error output, never as a stack trace.</summary>
internal static class CliApp
{
    /// <summary>Makes the command of a program.</summary>
    /// <param name="name">The name of the program.</param>
    /// <param name="description">What it is for.</param>
    /// <param name="commands">Its commands, in the order of the help.</param>
    public static Command Root(string name, string description, IEnumerable<Command> commands)
    {
        // Not a RootCommand: that would be called after the executable's file.
        Command root = new(name, description) { new HelpOption { Action = new ScreenHelp() }, new VersionOption() };
        root.Options.Add(new Option<bool>(ScreenHelp.WholeHelp) { Recursive = true, Hidden = true, Action = new ScreenHelp(isWhole: true) });
        foreach (Command command in commands)
        {
            root.Subcommands.Add(command);
        }

        root.SetAction(static parsed => new ScreenHelp().Invoke(parsed));
        return root;
    }

    /// <summary>Parses the arguments without running the command.</summary>
    public static ParseResult Parse(Command root, IReadOnlyList<string> args) =>
        // A name after an at sign is a baseline, not a file of arguments.
        root.Parse(args, new ParserConfiguration { ResponseFileTokenReplacer = null });

    public static Task<int> RunAsync(Command root, IReadOnlyList<string> args, CliHost host) => GuardAsync(host, async () =>
    {
        ParseResult parsed = Parse(root, args);
        return parsed.Errors.Count > 0
            ? throw new BadInputException($"{parsed.Errors[0].Message.TrimEnd('.')}. See '{PathOf(parsed)} --help'.")
            : await parsed.InvokeAsync(
                new InvocationConfiguration
                {
                    Output = host.Out,
                    Error = host.Error,
                    EnableDefaultExceptionHandler = false,
                    ProcessTerminationTimeout = null,
                },
                host.Stop);
    });

    /// <summary>Runs something, and makes an exit code and one line of each error.</summary>
    public static async Task<int> GuardAsync(CliHost host, Func<Task<int>> run)
    {
        try
        {
            int code = await run();
            await host.Out.FlushAsync(CancellationToken.None);
            return code;
        }
        catch (WrongResultException e)
        {
            return Fail(host, e, ExitCode.Invalid);
        }
        catch (OperationCanceledException) when (host.Stop.IsCancellationRequested)
        {
            host.Say("stopped before anything was measured.");
            return ExitCode.Interrupted;
        }
        catch (Exception e)
        {
            return Fail(host, e, ExitCode.Failure);
        }
    }

    /// <summary>Runs a program whose first signal asks it to stop and report. The second is left to the system, which ends the process.</summary>
    public static async Task<int> UntilSignalAsync(Func<CancellationToken, Task<int>> run)
    {
        using CancellationTokenSource stop = new();

        void Stop(PosixSignalContext signal)
        {
            signal.Cancel = !stop.IsCancellationRequested;
            stop.Cancel();
        }

        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
        using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
        return await run(stop.Token);
    }

    /// <summary>The words of the command that was given, such as <c>weir-work dead list</c>.</summary>
    public static string PathOf(ParseResult parsed)
    {
        List<string> words = [];
        for (SymbolResult? at = parsed.CommandResult; at is CommandResult command; at = command.Parent)
        {
            words.Insert(0, command.Command.Name);
        }

        return string.Join(' ', words);
    }

    private static int Fail(CliHost host, Exception error, int code)
    {
        string line = string.Join(' ', error.Message.Split((char[])['\r', '\n'], StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries));
        host.Say(Credentials.Hide(line));
        return code;
    }
}

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
