using System.Globalization;
using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Kills;
using Weir.Lab.Queues.Measuring;

if (args is not [var verb, var name, var server, var queue, var last] || !QueueArms.Names.Contains(name))
{
    Console.Error.WriteLine("Give what to do, an arm, its server, the name of its queue, and how many items or, to a worker, its file.");
    return 1;
}

QueueAddress address = new(server, queue);
int Items() => int.Parse(last, CultureInfo.InvariantCulture);
IReadOnlyList<QueueReading> readings = [];
switch (verb)
{
    case QueueReading.Handle or QueueReading.HandleSlowly:
        readings = await Throughput.MeasureAsync(name, address, Items(), verb);
        break;
    case QueueReading.Latency:
        readings = [await Delays.MeasureAsync(name, address, Items())];
        break;
    case QueueReading.Kills:
        readings = [await KilledWorkers.MeasureAsync(name, address, Items(), Console.Error)];
        break;
    case "worker":
        await KilledWorkers.WorkAsync(name, address, last);
        break;
    case "delete":
        await using (IQueueArm arm = QueueArms.Create(name, address))
        {
            await arm.DeleteAsync();
        }

        break;
    default:
        Console.Error.WriteLine($"'{verb}' is none of handle, handle 1 ms, latency, kills, worker and delete.");
        return 1;
}

foreach (QueueReading reading in readings)
{
    Console.WriteLine(reading);
}

return 0;
