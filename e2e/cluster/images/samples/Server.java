import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/**
 * The JDK's own server, answering with the pod's name. SIGTERM runs the hook, which stops it: requests may finish for two seconds. With an
 * argument it asks its clients to leave for two seconds before.
 */
public class Server {
  private static volatile boolean leaving = false;

  public static void main(String[] words) throws Exception {
    String pod = System.getenv("HOSTNAME");
    byte[] answer = (pod + "\n").getBytes();
    HttpServer server = HttpServer.create(new InetSocketAddress(8080), 512);
    server.createContext("/", exchange -> {
      if (exchange.getRequestURI().getPath().equals("/slow")) pause(300);
      if (leaving) exchange.getResponseHeaders().set("Connection", "close");
      exchange.getResponseHeaders().set("x-lameduck-pod", pod);
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
      exchange.close();
    });
    server.setExecutor(Executors.newFixedThreadPool(16));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      leaving = words.length > 0;
      if (leaving) pause(2_000);
      server.stop(2);
    }));
    server.start();
  }

  private static void pause(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
