using System.CommandLine;
using Weir.Cli.Kit.Options;
using Weir.Cli.Kit.Output;

namespace Weir.Tables.Servers.Broker;

/// <summary>The <c>figures broker</c> command: the queue in RabbitMQ against RabbitMQ.Client alone, and what each safety costs.</summary>
internal static class BrokerCommand
{
    private const int MostRounds = 1000;
    private const int MostMessages = 1_000_000;
    private const int MostMillions = 1000;

    public static Command Create(CliHost host)
    {
        TextOption address = TextOption.Of(
            "--rabbitmq", "WEIR_RABBITMQ", "ADDRESS", "The broker, such as eng/services starts one; a user who may declare queues");
        TextOption rounds = TextOption.Of("--rounds", null, "N", "How often each arm is measured. Default 9");
        TextOption messages = TextOption.Of("--messages", null, "N", "How many messages a run has. Default 20,000");
        TextOption millions = TextOption.Of("--millions", null, "N", "How many million items go through while the memory is watched. Default 10");
        Option<FileInfo?> output = new("--output") { Description = "The page to write, such as docs/results/rabbitmq.md" };
        Command command = new("broker", "Measures the queue in RabbitMQ against RabbitMQ.Client alone, in turns, and what each safety costs.")
        {
            address.Flag, rounds.Flag, messages.Flag, millions.Flag, output,
        };
        command.SetAction(async (parsed, token) =>
        {
            OptionValue broker = address.Find(parsed, host.Variable)
                ?? throw new BadInputException("--rabbitmq or WEIR_RABBITMQ must be the address of a broker: 'eng/services up rabbitmq' starts one.");
            Uri uri = Uri.TryCreate(broker.Text, UriKind.Absolute, out Uri? read) && read.Scheme is "amqp" or "amqps" ? read : throw new BadInputException(
                $"{broker.Source} must be an address such as amqp://USER:PASSWORD@HOST:5672/; it is something else, "
                    + "which is not shown because it may have a password.");
            FileInfo? page = parsed.GetValue(output);
            PageFile.Check(page);

            int times = rounds.Find(parsed, host.Variable)?.WholeNumber(1, MostRounds) ?? 9;
            int count = messages.Find(parsed, host.Variable)?.WholeNumber(1, MostMessages) ?? 20_000;
            int watched = millions.Find(parsed, host.Variable)?.WholeNumber(0, MostMillions) ?? 10;
            PageRun run = new(page, host.Out);
            BrokerFindings found = await new BrokerRun(host).RunAsync(uri, times, count, watched, token).ConfigureAwait(false);
            await run.WriteAsync(BrokerPage.Render(found, run.Provenance(FormattableString.Invariant($"{times} rounds")))).ConfigureAwait(false);
            return ExitCode.Success;
        });
        return command;
    }
}
