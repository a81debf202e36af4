using Weir.Cli.Profiling;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Profiling;

/// <summary>Planted stacks, from the outermost frame to the innermost.</summary>
public class StackFoldingTests
{
    private const string Thread = "System.Private.CoreLib!System.Threading.Thread.StartCallback()";
    private const string Loop = "Weir.Lab!Weir.Lab.Workers.SyncOperation.Loop(class Weir.Lab.Workers.WorkerSlot)";
    private const string Dispatch = "System.Private.CoreLib!System.Threading.ThreadPoolWorkQueue.Dispatch()";

    [Theory]
    [InlineData("N.C.Run;N.C.Hot", Thread, Loop, "Mine!N.C.Run()", "Mine!N.C.Hot(int32,class System.String)")]
    [InlineData("N.C.Run", Thread, Loop, "Mine!N.C.Run()", "Weir.Lab!Weir.Lab.Workers.WorkerContext.get_Seed()")]
    [InlineData(
        "N.C.Run;System.Threading.Monitor.Enter", Thread, Loop, "Mine!N.C.Run()", "System.Private.CoreLib!System.Threading.Monitor.Enter(class System.Object)")]
    [InlineData("Weir.Lab.Workloads.LockWorkload.Add", Thread, Loop, "Weir.Lab!Weir.Lab.Workloads.LockWorkload.Add()")]
    [InlineData("(the operation)", Thread, Loop)]
    [InlineData(ProfileRecord.LabLoop, Thread, Loop, "Weir.Lab!Weir.Lab.Workers.WorkerSlot.Done(int32,int64,int64)")]
    [InlineData("(the operation)", Thread, Loop, "Weir.Cli!Weir.Cli.Workloads.UserCode.MethodOperations+<>c.<Of>b__1()")]
    [InlineData("(the operation)", Thread, Loop, "Weir.Lab!Weir.Lab.Workers.FuncOperation`1[System.Int32].Repeat(int32,int32&)")]
    [InlineData(ProfileRecord.LabLoop, Thread, Loop, "System.Private.CoreLib!System.Diagnostics.Stopwatch.GetTimestamp()")]
    [InlineData("N.C.RunAsync", Dispatch, "Mine!N.C+<RunAsync>d__3.MoveNext()")]
    [InlineData("System.Threading.ThreadPoolWorkQueue.Dispatch", Thread, Dispatch)]
    [InlineData(null, Thread, "Weir.Cli!Weir.Cli.Profiling.ProfiledRound.Copy(class Session)",
        "System.Private.CoreLib!System.IO.Stream.CopyTo(class System.IO.Stream)")]
    [InlineData(
        "N.C.RunAsync", Dispatch, "System.Private.CoreLib!System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1[N.C].MoveNext()",
        "Mine!N.C+<RunAsync>d__3.MoveNext()")]
    [InlineData(null, Thread, "System.Private.CoreLib!System.Threading.LowLevelLifoSemaphore.Wait(int32,bool)")]
    [InlineData(null, Dispatch, "System.Private.CoreLib!System.Diagnostics.Tracing.ManifestBuilder.CreateManifestString()",
        "System.Private.CoreLib!System.Text.StringBuilder.ToString()")]
    [InlineData(null)]
    public void Fold_AStack_ShowsTheMeasuredCode(string? expected, params string[] frames) =>
        Assert.Equal(expected, StackFolding.Fold(Of(frames), isNative: false).Frames);

    [Theory]
    [InlineData("Weir.Lab!Weir.Lab.Workers.WindowRunner.Watch(int64)")]
    [InlineData("Weir.Lab!Weir.Lab.Workers.WindowRunner.Watch(int64)", "System.Private.CoreLib!System.Threading.WaitHandle.WaitOneNoCheck(int32)")]
    [InlineData("Weir.Lab!Weir.Lab.Workers.WindowRunner.RunThread(class Weir.Lab.Workers.Operation,class Weir.Lab.Workers.WorkerSlot)")]
    [InlineData("Weir.Lab!Weir.Lab.Workers.Pacer.Emit()", "Weir.Lab!Weir.Lab.Work.PreciseSleep.For(value class System.TimeSpan)")]
    [InlineData("Weir.Lab!Weir.Lab.Work.WaitThread.EndWaits()")]
    public void Fold_ThreadsThatControlTheRound_DoNotCount(params string[] frames)
    {
        Assert.Null(StackFolding.Fold(Of([Thread, .. frames]), isNative: false).Frames);
        Assert.Null(StackFolding.Fold(Of([Thread, .. frames]), isNative: true).Frames);
    }

    [Theory]
    [InlineData("N.C.Run;System.Threading.Thread.Sleep", SampleKind.Waiting, "System.Private.CoreLib!System.Threading.Thread.Sleep(int32)")]
    [InlineData("N.C.Run;Interop+Sys.Receive", SampleKind.Waiting, "System.Net.Sockets!Interop+Sys.Receive(class Handle)")]
    [InlineData(null, SampleKind.Native, "System.Net.Sockets!System.Net.Sockets.SocketAsyncEngine.EventLoop()")]
    [InlineData(null, SampleKind.Native, "System.Private.CoreLib!System.GC.RunFinalizers()")]
    [InlineData(
        "N.C.Run;Interop+Crypto.EvpDigestUpdate", SampleKind.Native, "System.Security.Cryptography!Interop+Crypto.EvpDigestUpdate(class Handle)")]
    public void Fold_InNativeCode_TellsWaitingFromWhatMayWork(string? expected, object kind, string innermost)
    {
        FoldedSample sample = StackFolding.Fold(Of([Thread, Loop, "Mine!N.C.Run()", innermost]), isNative: true);

        Assert.Equal((expected, (SampleKind)kind), (sample.Frames, sample.Kind));
    }

    [Theory]
    [InlineData("N.C.M(int32)", "N.C.M")]
    [InlineData("N.C+<MAsync>d__12.MoveNext()", "N.C.MAsync")]
    [InlineData("N.C+<MAsync>d__1`1[System.__Canon].MoveNext()", "N.C.MAsync")]
    [InlineData("N.C+<>c.<M>b__0_0(int32)", "N.C+<>c.<M>b__0_0")]
    public void NameOf_AMethod_IsAsItIsWritten(string method, string expected) => Assert.Equal(expected, StackFolding.NameOf(method));

    private static SampledFrame[] Of(string[] frames) => [.. frames.Select(static f => f.Split('!', 2)).Select(static f => new SampledFrame(f[0], f[1]))];
}
