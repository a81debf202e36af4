using System.Net;
using System.Net.Sockets;
using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Kills;
using Weir.Lab.Queues.Measuring;

namespace Weir.Lab.Queues.Tests;

public class MeasuringTests
{
    [Fact(Timeout = 60_000)]
    public async Task Handle_ItemsWithOneTwice_MeasuresThoseAfterTheWarmUpAndCountsTheDouble()
    {
        double client = 0;
        Ledger ledger = new(5, 2, TimeSpan.Zero, () => new Spent(Clock: 0, Client: client += 10, Server: null));
        foreach (int number in (int[])[0, 1, 2, 2, 3])
        {
            await ledger.HandleAsync(QueueItem.Of(number));
        }

        Assert.False(ledger.All.IsCompleted);
        await ledger.HandleAsync(QueueItem.Of(4));
        await ledger.All;
        QueueReading reading = ledger.Reading(QueueReading.Handle);
        Assert.Equal((3, 1, 10.0, (double?)null), (reading.Items, reading.Doubled, reading.Client, reading.Server));
    }

    [Fact]
    public void Parse_ReadingAsText_GivesTheReading()
    {
        QueueReading reading = new(QueueReading.Kills, 7) { Seconds = 1.5, Lost = 1, Doubled = 2, Left = 3 };
        Assert.Equal(reading, QueueReading.Parse(reading.ToString()));
    }

    [Fact]
    public void Read_FilesOfTwoWorkers_HasEachLine()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("weir-handled-");
        try
        {
            using HandledFile first = new(Path.Combine(folder.FullName, "0"));
            using HandledFile second = new(Path.Combine(folder.FullName, "1"));
            first.Add(3);
            second.Add(4);
            first.Add(4);
            Assert.Equal([3, 4, 4], HandledFile.Read(folder.FullName).Order());
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public void Seconds_OfThisProcess_GrowWithItsWork()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "The processes of a server are found under /proc.");
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        ServerProcess server = new(((IPEndPoint)listener.LocalEndpoint).Port);
        double before = server.Seconds() ?? double.NaN;
        TimeSpan until = Environment.CpuUsage.TotalTime + TimeSpan.FromMilliseconds(100);
        while (Environment.CpuUsage.TotalTime < until)
        {
        }

        Assert.InRange(server.Seconds() ?? double.NaN, before + 0.05, double.MaxValue);
    }

    [Fact]
    public void Seconds_PortOfNobody_AreNotKnown()
    {
        using Socket bound = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        Assert.Null(new ServerProcess(((IPEndPoint)bound.LocalEndPoint!).Port).Seconds());
    }
}
