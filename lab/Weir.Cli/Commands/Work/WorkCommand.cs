using System.CommandLine;
using System.CommandLine.Help;
using Weir.Cli.Commands.Work.Engines;
using Weir.Cli.Commands.Work.Execution;
using Weir.Cli.Hosting;
using Weir.Cli.Options;
using Weir.Delivery;
using Weir.Lab.Formatting;

namespace Weir.Cli.Commands.Work;

/// <summary>The <c>work</c> command: publishes to a queue, processes it, and shows what failed.</summary>
internal static class WorkCommand
{
    public static Command Create(CliHost host)
    {
        Command command = new("work", "Publishes work to a queue, runs a command for each item, and shows and replays what failed.")
        {
            Setup(host),
            Publish(host),
            RunCommands.Create(host),
            DeadCommands.Create(host),
        };
        command.SetAction(static parsed => new HelpAction().Invoke(parsed));
        return command;
    }

    private static Command Setup(CliHost host)
    {
        WorkOptionSet work = new();
        Command command = new("setup", "Creates what the queue needs and does not exist yet, and checks what exists.");
        work.AddTo(command);
        command.SetAction(async (parsed, token) =>
        {
            WorkEngines.OpenedQueue opened = work.Open(parsed, host);
            await using (opened.ConfigureAwait(false))
            {
                await opened.Queue.SetupAsync(token).ConfigureAwait(false);
                WorkOutput.Write(host, work.IsJson(parsed), $"the queue {opened.Queue.Name} is set up", ("queue", opened.Queue.Name));
            }

            return ExitCode.Success;
        });
        return command;
    }

    private static Command Publish(CliHost host)
    {
        WorkOptionSet work = new();
        LineItems lines = new();
        Argument<string> file = new("FILE") { Description = "A file, each line of which is an item; - for the input", DefaultValueFactory = static _ => "-" };
        TextOption delay = TextOption.Of("--delay", null, "TIME", "How long the items wait at least until they are processed, such as 10s. Default 0s");
        Command command = new("publish", "Publishes the lines of a file or of the input.") { file, delay.Flag };
        work.AddTo(command);
        lines.AddTo(command);
        command.SetAction(async (parsed, token) =>
        {
            TimeSpan wait = delay.Find(parsed, static _ => null)?.Time(TimeSpan.Zero, TimeSpan.FromDays(30), "10s") ?? TimeSpan.Zero;
            WorkEngines.OpenedQueue opened = work.Open(parsed, host);
            await using (opened.ConfigureAwait(false))
            {
                if (wait > TimeSpan.Zero && opened.PublishLater is null)
                {
                    throw new BadInputException("--delay cannot be used with this engine, which publishes nothing for later.");
                }

                IWorkSink<string> sink = await opened.Queue.OpenSinkAsync(token).ConfigureAwait(false);
                await using (sink.ConfigureAwait(false))
                {
                    long published = 0;
                    bool isStopped = false;
                    try
                    {
                        await lines.PublishAsync(
                            parsed,
                            new OptionValue("FILE", parsed.GetValue(file)!),
                            host,
                            (items, stop) => wait > TimeSpan.Zero ? opened.PublishLater!(items, wait, stop) : sink.WriteAsync(items, null, stop),
                            count => published = count,
                            token).ConfigureAwait(false);
                    }
                    catch (OperationCanceledException) when (token.IsCancellationRequested)
                    {
                        isStopped = true;
                    }
                    catch (Exception e) when (published > 0)
                    {
                        throw new InvalidOperationException($"{Numbers.Grouped(published)} items were published before this: {e.Message}", e);
                    }

                    WorkOutput.Write(
                        host,
                        work.IsJson(parsed),
                        $"{Numbers.Grouped(published)} items published to {opened.Queue.Name}{(isStopped ? "; stopped before the last line" : "")}",
                        ("queue", opened.Queue.Name),
                        ("published", published),
                        ("stopped", isStopped));
                    return isStopped ? ExitCode.Interrupted : ExitCode.Success;
                }
            }
        });
        return command;
    }
}
