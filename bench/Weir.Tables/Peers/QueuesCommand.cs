using System.CommandLine;
using Weir.Cli.Kit.Options;
using Weir.Cli.Kit.Output;
using Weir.Delivery.Cli.Engines;
using Weir.Tables.Servers.Turns;
using static System.FormattableString;

namespace Weir.Tables.Peers;

/// <summary>The command line of <c>queues-compared</c>.</summary>
internal static class QueuesCommand
{
    private const int UsualRounds = 3;
    private const int MostRounds = 100;

    public static Command Create(CliHost host)
    {
        TextOption postgres = FigureOrder.Postgres();
        TextOption rabbit = TextOption.Of(
            "--rabbitmq", "WEIR_RABBITMQ", "ADDRESS", "A broker, on which queues are declared and deleted: amqp://USER:PASSWORD@HOST");
        TextOption rounds = TextOption.Of("--rounds", null, "N", $"How often each arm is measured; workers are killed in one round. Default {UsualRounds}");
        string names = string.Join(", ", QueuesPage.Sections.Select(static s => s.Key));
        TextOption only = TextOption.Of("--only", null, "NAME,...", $"Which sections: {names}. Default all");
        TextOption output = TextOption.Of("--output", null, "FILE", "The page to write, such as docs/results/queues-compared.md. Its notes are kept");
        Command command = new(QueuesRun.Verb, "Measures queues beside their peers. On real servers, each turn in a process of its own.");
        command.AddAll([postgres, rabbit, rounds, only, output]);

        command.SetAction(async (parsed, stop) =>
        {
            OptionValue? Find(TextOption option) => option.Find(parsed, host.Variable);
            int count = Find(rounds)?.WholeNumber(1, MostRounds) ?? UsualRounds;
            PageSection[] sections = Selection.Of(QueuesPage.Sections, Find(only)?.Text.Split(',') ?? [], static s => s.Key);
            FileInfo? page = Find(output) is { } file ? new FileInfo(file.NotEmpty("a file")) : null;
            PageFile.Check(page);
            QueuesRun queues = new(
                Find(postgres) is { } server ? PostgresEngine.Connection(server) : null,
                Find(rabbit) is { } broker ? RabbitEngine.Broker(broker) : null,
                host.Error);
            if (queues.Peers.Count == 0)
            {
                throw new BadInputException(
                    $"{postgres.Name}, {rabbit.Name} or their variables must say where a server is: 'eng/services up' starts both.");
            }

            await queues.BuildAsync(stop);
            await SectionPage.MeasureAsync(
                page,
                host.Out,
                sections.Select(static s => s.Key),
                async key =>
                {
                    int times = key == "kills" ? 1 : count;
                    return (await queues.MeasureAsync(key, times, stop), Invariant($"{times} {(times == 1 ? "round" : "rounds")}"));
                },
                QueuesPage.Render);
            return ExitCode.Success;
        });
        return command;
    }
}
