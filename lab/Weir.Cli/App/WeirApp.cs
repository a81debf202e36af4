using System.CommandLine;
using System.CommandLine.Help;
using Weir.Cli.Commands.Audit;
using Weir.Cli.Commands.Audit.Parts;
using Weir.Cli.Commands.Baseline;
using Weir.Cli.Commands.Bench;
using Weir.Cli.Commands.Cdc;
using Weir.Cli.Commands.Compare;
using Weir.Cli.Commands.Doctor;
using Weir.Cli.Commands.Figures;
using Weir.Cli.Commands.Hash;
using Weir.Cli.Commands.History;
using Weir.Cli.Commands.Load;
using Weir.Cli.Commands.Measure;
using Weir.Cli.Commands.New;
using Weir.Cli.Commands.Report;
using Weir.Cli.Commands.Run;
using Weir.Cli.Commands.Scale;
using Weir.Cli.Commands.Work;
using Weir.Cli.Hosting;
using Weir.Lab.Suites;
using Weir.Lab.Trials;

namespace Weir.Cli.App;

/// <summary>Combines the commands, and reports their errors as one line on the error output, never as a stack trace.</summary>
internal static class WeirApp
{
    public static async Task<int> RunAsync(IReadOnlyList<string> args, CliHost host)
    {
        try
        {
            if (args is [BenchCommand.Name, ..] && SuiteCommands.ForOtherRuntimes(args.Skip(1)) is { } compared)
            {
                args = compared;
            }

            // BenchmarkDotNet has a parser of its own.
            if (args is [BenchCommand.Name, ..])
            {
                return BenchCommand.Run([.. args.Skip(1)], host);
            }

            ParseResult parsed = Parse(args, host);
            if (parsed.Errors.Count > 0)
            {
                throw new BadInputException($"{parsed.Errors[0].Message.TrimEnd('.')}. See 'weir {parsed.CommandResult.Command.Name} --help'."
                    .Replace("weir weir", "weir", StringComparison.Ordinal));
            }

            return await parsed.InvokeAsync(
                new InvocationConfiguration
                {
                    Output = host.Out,
                    Error = host.Error,
                    EnableDefaultExceptionHandler = false,
                    ProcessTerminationTimeout = null,
                },
                host.Stop).ConfigureAwait(false);
        }
        catch (WrongResultException e)
        {
            return Fail(host, e, ExitCode.Invalid);
        }
        catch (OperationCanceledException) when (host.Stop.IsCancellationRequested)
        {
            host.Error.WriteLine("weir: stopped before anything was measured.");
            return ExitCode.Interrupted;
        }
        catch (Exception e)
        {
            return Fail(host, e, ExitCode.Failure);
        }
    }

    /// <summary>Parses the arguments without running the command.</summary>
    public static ParseResult Parse(IReadOnlyList<string> args, CliHost host) =>
        // A name after an at sign is a baseline, not a file of arguments.
        Root(host).Parse(args, new ParserConfiguration { ResponseFileTokenReplacer = null });

    // Not a RootCommand: that would be called after the executable's file.
    private static Command Root(CliHost host)
    {
        Command root = new("weir", "Measures concurrent .NET code on your machine.")
        {
            new HelpOption(),
            new VersionOption(),
            LoadCommand.Create(host),
            HashCommand.Create(host),
            RunCommand.Create(host),
            ScaleCommand.Create(host),
            CompareCommand.Create(host),
            BaselineCommand.Create(host, RunAsync),
            HistoryCommand.Create(host),
            BenchCommand.Create(),
            ReportCommand.Create(host),
            NewCommand.Create(host),
            DoctorCommand.Create(host),
            AuditCommand.Create(host),
            WorkCommand.Create(host),
            CdcCommand.Create(host),
            FiguresCommand.Create(host),
            MeasureCommand.Create(host),
            PartCommand.Create(),
        };
        foreach (Command command in SuiteCommands.Create(host.Out, host.Error, typeof(WeirApp).Assembly))
        {
            root.Subcommands.Add(command);
        }

        root.SetAction(parsed => new HelpAction().Invoke(parsed));
        return root;
    }

    private static int Fail(CliHost host, Exception error, int code)
    {
        string line = string.Join(' ', error.Message.Split((char[])['\r', '\n'], StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries));
        host.Error.WriteLine($"weir: {Credentials.Hide(line)}");
        return code;
    }
}
